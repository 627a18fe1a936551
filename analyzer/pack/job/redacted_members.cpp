// Purpose: the members of a packed file without private names.
#include "analyzer/pack/job/redacted_members.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "analyzer/job/trace_name.h"
#include "analyzer/pack/job/open_trace.h"
#include "analyzer/pack/redact/redacted_files.h"
#include "analyzer/pack/redact/redacted_records.h"
#include "analyzer/pack/redact/segment_records.h"

namespace memtrace::report {
namespace {

bool is_trace_file(const PackMember& member) {
  return member.kind == MemberKind::segments && member.name.find(".window-") == std::string::npos;
}

// Opens the file of segments as the trace reader does.
struct SegmentsOf {
  SegmentsOf(const PackMember& member, std::uint64_t trace_id)
      : file(member.path, is_trace_file(member) ? files::Origin::named : files::Origin::found),
        index(file, trace_id) {}
  trace::File file;
  trace::SegmentIndex index;
};

// The rollup has only numbers. A file of another kind becomes zeros.
std::string checked_rollup(std::string content) {
  const bool sound = content.size() >= sizeof format::kRollupMagic &&
                     std::memcmp(content.data(), format::kRollupMagic, sizeof format::kRollupMagic) == 0;
  return sound ? content : std::string(content.size(), '\0');
}

} // namespace

RedactedMembers::RedactedMembers(std::vector<Process>& processes, const std::vector<PackMember>& members,
                                 trace::Progress& progress)
    : uses_(processes.size()) {
  std::vector<std::string> hosts;
  for (const Process& process : processes) {
    if (const auto name = trace_name(process.path)) hosts.push_back(name->host);
    hosts.push_back(process.facts.host);
  }
  std::sort(hosts.begin(), hosts.end()); // so the traces stay in their order
  for (const std::string& host : hosts) names_.learn_host(host);
  for (const PackMember& member : members) {
    if (member.kind != MemberKind::segments) continue;
    redact::TextUses& uses = uses_[member.process];
    const OpenTrace trace(processes[member.process], progress);
    const SegmentsOf segments(member, trace->trace_id());
    redact::each_segment(segments.file, segments.index, [&](const redact::SegmentRecords& with) {
      for (const format::RingRecord& record : with.records) uses.add(record);
    });
    if (!is_trace_file(member)) continue;
    if (trace->rings() != nullptr) uses.add(*trace->rings());
    if (trace->rollup() != nullptr) uses.add(*trace->rollup());
  }
  for (std::size_t i = 0; i < processes.size(); ++i)
    uses_[i].learn(OpenTrace(processes[i], progress)->definitions(), names_);
}

std::string RedactedMembers::name(const PackMember& member) {
  if (member.kind == MemberKind::job) return member.name;
  const std::filesystem::path file(member.name);
  const std::string suffix = file.extension().string();
  return names_.stem(file.stem().string()) + suffix;
}

std::string RedactedMembers::segments(const PackMember& member, const trace::Trace& trace) {
  const SegmentsOf segments(member, trace.trace_id());
  std::string out;
  if (is_trace_file(member) && !segments.index.segments().empty())
    out = redact::text_segments(uses_[member.process].replacements(trace.definitions(), names_),
                                segments.index.segments().front().header);
  return out + redact::redacted_segments(segments.file, segments.index);
}

std::string RedactedMembers::content(const PackMember& member, const trace::Trace& trace) {
  switch (member.kind) {
    case MemberKind::segments:
      return segments(member, trace);
    case MemberKind::rings:
      return redact::redacted_rings(content_of(member), names_);
    case MemberKind::rollup:
      return checked_rollup(content_of(member));
    case MemberKind::ends:
      return redact::redacted_ends(content_of(member), names_);
    case MemberKind::job:
      return redact::redacted_job(content_of(member), names_);
    default:
      return "";
  }
}

} // namespace memtrace::report
