// Purpose: writes what was alive at a peak as a profile for pprof.
#include "analyzer/export/profiles/pprof_profile.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>

#include "analyzer/calltree/call_tree.h"
#include "analyzer/files/gzip.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

// The fields of the messages, by the numbers in pprof's profile.proto.
namespace profile_field {
constexpr protozero::pbf_tag_type kSampleType = 1, kSample = 2, kLocation = 4, kFunction = 5, kStringTable = 6,
                                  kTimeNanos = 9, kPeriodType = 11, kPeriod = 12, kDefaultSampleType = 14;
constexpr protozero::pbf_tag_type kValueType = 1, kValueUnit = 2;
constexpr protozero::pbf_tag_type kSampleLocation = 1, kSampleValue = 2, kSampleLabel = 3;
constexpr protozero::pbf_tag_type kLabelKey = 1, kLabelText = 2;
constexpr protozero::pbf_tag_type kLocationId = 1, kLocationLine = 4, kLineFunction = 1, kLineNumber = 2;
constexpr protozero::pbf_tag_type kFunctionId = 1, kFunctionName = 2, kFunctionSystemName = 3,
                                  kFunctionFile = 4;
} // namespace profile_field

class PprofProfile {
 public:
  explicit PprofProfile(ProcessAnalysis& analysis) : analysis_(analysis), writer_(bytes_) { text(""); }

  std::string write(const HeldBlocks& held) {
    using namespace profile_field;
    value_type(kSampleType, "inuse_objects", "count");
    value_type(kSampleType, "inuse_space", "bytes");
    for (const HeldGroup& group : held.groups) sample(group);
    locations();
    value_type(kPeriodType, "space", "bytes");
    writer_.add_int64(kPeriod, 1);
    writer_.add_int64(kTimeNanos, time_nanos(held));
    writer_.add_int64(kDefaultSampleType, text("inuse_space"));
    for (const std::string& one : texts_) writer_.add_string(kStringTable, one);
    return std::move(bytes_);
  }

 private:
  std::int64_t text(const std::string& value) {
    const auto [at, fresh] = ids_.try_emplace(value, static_cast<std::int64_t>(texts_.size()));
    if (fresh) texts_.push_back(value);
    return at->second;
  }

  void value_type(protozero::pbf_tag_type field, const char* type, const char* unit) {
    protozero::pbf_writer value(writer_, field);
    value.add_int64(profile_field::kValueType, text(type));
    value.add_int64(profile_field::kValueUnit, text(unit));
  }

  // Ids of pprof begin with 1. A location is one frame.
  std::uint64_t location(const symbols::SiteFrame& frame) { return frames_.add(frame) + 1; }

  void sample(const HeldGroup& group) {
    std::vector<std::uint64_t> stack; // innermost first
    if (group.stack == format::StackId{})
      stack.push_back(location(no_stack_frame()));
    else
      for (const symbols::SiteFrame& frame : analysis_.symbolizer->site(group.stack).frames)
        stack.push_back(location(frame));
    const std::int64_t values[] = {static_cast<std::int64_t>(group.blocks), group.bytes};
    protozero::pbf_writer sample(writer_, profile_field::kSample);
    sample.add_packed_uint64(profile_field::kSampleLocation, stack.begin(), stack.end());
    sample.add_packed_int64(profile_field::kSampleValue, std::begin(values), std::end(values));
    label(sample, "role", replay::role_name(group.role));
    label(sample, "kind", format::kKindNames[static_cast<std::size_t>(group.kind)]);
    label(sample, "phase", printable(analysis_.account.paths.text(group.born_phase)));
  }

  void label(protozero::pbf_writer& sample, const char* key, const std::string& value) {
    protozero::pbf_writer out(sample, profile_field::kSampleLabel);
    out.add_int64(profile_field::kLabelKey, text(key));
    out.add_int64(profile_field::kLabelText, text(value));
  }

  // A function may have several lines, each of which is a location.
  std::uint64_t function(const symbols::SiteFrame& frame) {
    const std::string name = printable(frame.function);
    const std::string file = printable(frame.file.empty() ? frame.module : frame.file);
    const std::uint64_t fresh = functions_.size() + 1;
    const auto [at, made] = functions_.try_emplace(name + '\0' + file, fresh);
    if (!made) return at->second;
    protozero::pbf_writer out(writer_, profile_field::kFunction);
    out.add_uint64(profile_field::kFunctionId, fresh);
    out.add_int64(profile_field::kFunctionName, text(name));
    // From a function whose two names are equal, pprof removes what is in angle brackets: <module> became
    // <unknown>.
    if (!frame.python) out.add_int64(profile_field::kFunctionSystemName, text(name));
    out.add_int64(profile_field::kFunctionFile, text(file));
    return fresh;
  }

  void locations() {
    for (std::size_t id = 0; id < frames_.size(); ++id) {
      const symbols::SiteFrame& frame = frames_.at(static_cast<std::uint32_t>(id));
      const std::uint64_t of = function(frame);
      protozero::pbf_writer out(writer_, profile_field::kLocation);
      out.add_uint64(profile_field::kLocationId, id + 1);
      protozero::pbf_writer line(out, profile_field::kLocationLine);
      line.add_uint64(profile_field::kLineFunction, of);
      line.add_int64(profile_field::kLineNumber, frame.line);
    }
  }

  std::int64_t time_nanos(const HeldBlocks& held) const {
    const format::Stamp start = analysis_.facts().start_stamp;
    const format::Stamp peak = std::max(peak_of(analysis_, held.peak).stamp, start);
    return static_cast<std::int64_t>(analysis_.facts().start_unix_ns + (peak - start));
  }

  ProcessAnalysis& analysis_;
  std::string bytes_;
  protozero::pbf_writer writer_;
  FrameTable frames_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::int64_t> ids_;
  std::unordered_map<std::string, std::uint64_t> functions_; // by name and file
};

} // namespace

std::string pprof_profile(ProcessAnalysis& analysis, const HeldBlocks& held) {
  return files::gzip(PprofProfile(analysis).write(held));
}

} // namespace memtrace::report
