// Purpose: finds memory that reference cycles held until Python's collector ran.
#include "analyzer/findings/peak/freed_by_gc.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/passes/collected_blocks.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::CollectedBlocks;
using replay::MemoryId;

// True if a collection freed a recorded block. A trace without one is not replayed.
bool has_collections(const ProcessAnalysis& analysis) {
  const replay::Paths& paths = analysis.account.paths;
  for (const replay::Row& row : analysis.account.rows)
    if (paths.text(paths.last(row.path)) == "gc") return true;
  return false;
}

// The blocks of one line of the program that were in cycles.
struct CycleLine {
  std::string line;
  std::uint64_t bytes = 0;
  std::int64_t at_peak = 0;
  std::uint64_t most = 0; // bytes of the stack `largest`
  format::StackId largest{};
  std::vector<format::StackId> stacks;
};

// Returns the lines with at least a sixteenth of the bytes, the largest first. An import leaves cycles of many
// small blocks, which are not the program's.
std::vector<CycleLine> lines_in_cycles(const ProcessAnalysis& analysis, const CollectedBlocks& collected) {
  std::map<std::string, CycleLine> sums;
  for (const auto& [stack, of] : collected.stacks) {
    const std::string text = analysis.symbolizer->site(stack).line();
    CycleLine& line = sums[text];
    line.line = text;
    line.bytes += of.bytes;
    line.at_peak = replay::wrapping_add(line.at_peak, of.at_peak);
    line.stacks.push_back(stack);
    if (of.bytes > line.most) line.most = of.bytes, line.largest = stack;
  }
  std::vector<CycleLine> out;
  for (auto& [text, line] : sums)
    if (line.bytes >= collected.bytes / 16) out.push_back(std::move(line));
  std::stable_sort(out.begin(), out.end(),
                   [](const CycleLine& a, const CycleLine& b) { return a.bytes > b.bytes; });
  return out;
}

std::optional<Finding> judge_collected(ProcessAnalysis& analysis, const LeadingPeak& leading,
                                       const CollectedBlocks& collected, const replay::Without& without) {
  const replay::Peak& peak = peak_of(analysis, leading);
  const std::int64_t saved = replay::wrapping_sub(peak.bytes, without.peak);
  if (!worthwhile(saved, leading.bytes)) return std::nullopt;
  const auto lines = lines_in_cycles(analysis, collected);
  if (lines.empty()) return std::nullopt;
  const std::string& line = lines.front().line;
  Finding finding = finding_at(analysis, "freed-by-gc", leading.memory, peak);
  for (const CycleLine& one : lines) {
    finding.bytes = replay::wrapping_add(finding.bytes, one.at_peak);
    finding.stacks.insert(finding.stacks.end(), one.stacks.begin(), one.stacks.end());
  }
  finding.site = lines.front().largest;
  finding.title =
      fmt::format("Reference cycles hold {} of earlier steps until Python's collector runs, made at {}",
                  size(finding.bytes), line);
  const std::string times =
      collected.collections == 1 ? "1 collection" : count(collected.collections) + " collections";
  finding.evidence = {
      fmt::format("{} freed {} bytes in {} blocks of earlier steps, at most {} bytes at once", times,
                  collected.bytes, collected.blocks, collected.most),
      fmt::format("{} bytes in cycles were alive at the peak of {} bytes", finding.bytes, peak.bytes),
      fmt::format("the peak would be {} bytes if they were freed by the end of their step", without.peak)};
  finding.sentences = {
      fmt::format("{} freed {} in {} blocks of earlier steps, at most {} at once.", times,
                  sized(collected.bytes), count(collected.blocks), sized(collected.most)),
      fmt::format("The peak of {} is {} {}; if these blocks were freed by the end of their step {}.",
                  leading.measure == replay::Measure::tensor ? "tensors" : "all allocations",
                  size(leading.bytes), analysis.place(peak.path, peak.step),
                  size(replay::wrapping_sub(leading.bytes, saved)))};
  finding.remedy = fmt::format(
      "break the cycle that holds the result of {}: an object that refers to itself by an attribute, a "
      "closure, a callback or a kept exception with its traceback; weakref.ref or del end it. Or gc.collect() "
      "in each step: -{} at the peak",
      line, size(saved));
  return finding;
}

void propose_collected_in(ProcessAnalysis& analysis, MemoryId memory, PeakCandidates& out) {
  const LeadingPeak leading = leading_peak(analysis, memory);
  const replay::Peak& peak = peak_of(analysis, leading);
  if (peak.bytes <= 0 || peak.bucket) return;
  CollectedBlocks collected = replay::collected_blocks(*analysis.trace, memory, leading.measure, peak);
  std::int64_t at_peak = 0;
  for (const auto& [stack, of] : collected.stacks) at_peak = replay::wrapping_add(at_peak, of.at_peak);
  if (!worthwhile(at_peak, leading.bytes)) return;
  replay::Excluded excluded{.memory = memory, .measure = leading.measure};
  excluded.births = collected.births;
  excluded.rounds = collected.rounds;
  out.push_back({std::move(excluded), [&analysis, leading, collected](const replay::Without& without) {
                   return judge_collected(analysis, leading, collected, without);
                 }});
}

} // namespace

PeakCandidates propose_freed_by_gc(ProcessAnalysis& analysis) {
  if (!has_collections(analysis)) return {};
  return in_each_memory(analysis, propose_collected_in);
}

} // namespace memtrace::report
