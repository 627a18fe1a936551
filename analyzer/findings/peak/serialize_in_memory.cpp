// Purpose: finds data that was serialized to memory instead of a file.
#include "analyzer/findings/peak/serialize_in_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/frameworks/function_names.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using frameworks::Serializer;
using replay::Holding;
using replay::Measure;

const Serializer* writer_of(const symbols::Site& site) {
  for (const symbols::SiteFrame& frame : site.frames) {
    if (!frame.python) continue;
    for (const Serializer& writer : frameworks::kSerializers)
      if (frame.function == writer.function && frame.file.ends_with(writer.file)) return &writer;
  }
  return nullptr;
}

const std::string& line_of(const symbols::Site& site) {
  return site.caller.empty() ? site.where : site.caller;
}

// The serialized bytes of one line of the program.
struct Copy {
  const Serializer* writer = nullptr;
  std::uint64_t tensors = 0; // bytes alive then
  SiteTotals of;
};

// Returns the bytes objects and buffers of each line: blocks that are not tensors. If a line has a writer, all
// such blocks of the line count, because pickle has no frame of its own.
std::map<std::string, Copy> copies(ProcessAnalysis& analysis, const replay::Holdings& alive) {
  constexpr std::uint64_t kLeast = 1 << 20;
  std::map<std::string, Copy> out;
  const auto each = [&](auto take) {
    for (const Holding& holding : alive) { // largest first
      if (holding.bytes < kLeast || holding.stack == format::StackId{}) continue;
      if (holding.tensor || holding.sampled) continue;
      const symbols::Site& site = analysis.symbolizer->site(holding.stack);
      take(holding, site, line_of(site));
    }
  };
  std::uint64_t tensors = 0;
  for (const Holding& holding : alive)
    if (holding.tensor) tensors += holding.bytes;
  each([&](const Holding&, const symbols::Site& site, const std::string& line) {
    if (const Serializer* const writer = writer_of(site); writer != nullptr && out[line].writer == nullptr)
      out[line].writer = writer;
  });
  each([&](const Holding& holding, const symbols::Site&, const std::string& line) {
    if (const auto at = out.find(line); at != out.end()) at->second.of.add(analysis, holding);
  });
  for (auto& [line, copy] : out) copy.tensors = tensors;
  return out;
}

// Sets what a finding says about the copy, wherever it is held.
void describe(Finding& finding, const std::string& line, const Copy& copy) {
  finding.phase = copy.of.phase;
  finding.step = copy.of.step;
  finding.bytes = static_cast<std::int64_t>(copy.of.bytes);
  finding.site = copy.of.site;
  finding.title = fmt::format("{}: {} written to memory by {}, beside {} of tensors", line, size(finding.bytes),
                              copy.writer->name, sized(copy.tensors));
  finding.no_remedy = "a file on /dev/shm, which is memory, too; or another protocol of pickle";
}

std::optional<Finding> judge(const ProcessAnalysis& analysis, const std::string& line, const Copy& copy,
                             const replay::Without& without) {
  const replay::Peak& peak = analysis.account.peaks.at(0).live;
  const std::int64_t saved = replay::wrapping_sub(peak.bytes, without.peak);
  if (!worthwhile(saved, peak.bytes)) return std::nullopt;
  Finding finding = finding_at(analysis, "serialize-in-memory", 0, peak);
  describe(finding, line, copy);
  finding.evidence = {
      fmt::format("{} bytes in {} blocks that are not tensors, alive at the peak of {} bytes", copy.of.bytes,
                  copy.of.blocks, peak.bytes),
      fmt::format("the peak would be {} bytes without them", without.peak),
      fmt::format("such blocks were made in {} steps, or places outside of steps", without.steps.size())};
  finding.sentences = {fmt::format(
      "It makes the peak of host: {} of all allocations {}, with the objects and their bytes both there; "
      "without the bytes {}.",
      size(peak.bytes), analysis.place(peak.path, peak.step), size(without.peak))};
  finding.remedy = fmt::format("{}: -{} at the peak", copy.writer->remedy, size(saved));
  return finding;
}

} // namespace

PeakCandidates propose_serialized(ProcessAnalysis& analysis) {
  PeakCandidates out;
  const replay::Peak& peak = analysis.account.peaks.at(0).live;
  if (peak.bytes <= 0 || peak.bucket || analysis.death) return out;
  for (const auto& [line, copy] : copies(analysis, analysis.set({0, Measure::live, peak.at}))) {
    if (!worthwhile(static_cast<std::int64_t>(copy.of.bytes), peak.bytes)) continue;
    // A buffer that grows has one stack for each tensor that is written, and only the last of them is alive at
    // the peak. The phase has all of them.
    replay::Excluded excluded{.measure = Measure::live};
    if (copy.of.phase == "save")
      excluded.born_in = copy.of.born_in;
    else
      excluded.stacks = copy.of.stacks;
    out.push_back({std::move(excluded), [&analysis, line = line, copy = copy](const replay::Without& without) {
                     return judge(analysis, line, copy, without);
                   }});
  }
  return out;
}

Findings find_serialized_at_death(ProcessAnalysis& analysis) {
  Findings out;
  const DeathInstant& then = analysis.death->then;
  if (then.memory != 0) return out;
  for (const auto& [line, copy] : copies(analysis, analysis.set({0, Measure::live, then.at}))) {
    if (!worthwhile(static_cast<std::int64_t>(copy.of.bytes), then.level.live)) continue;
    Finding finding;
    finding.id = "serialize-in-memory";
    finding.certain = analysis.losses.total() == 0;
    describe(finding, line, copy);
    finding.evidence = {
        fmt::format("{} bytes in {} blocks that are not tensors, alive at the death with {} bytes",
                    copy.of.bytes, copy.of.blocks, then.level.live)};
    finding.sentences = {"The objects and their bytes were both in memory at the death."};
    finding.remedy = fmt::format("{}: -{} at the death", copy.writer->remedy, size(finding.bytes));
    out.push_back(std::move(finding));
  }
  return out;
}

} // namespace memtrace::report
