// Purpose: the common parts of findings about a peak: its phase and step, and the blocks of one line of the
// program.
#include "analyzer/findings/common/finding_at_peak.h"

#include <fmt/core.h>

#include <algorithm>

namespace memtrace::report {

Finding finding_at(const ProcessAnalysis& analysis, const char* id, replay::MemoryId memory,
                   const replay::Peak& peak) {
  Finding finding;
  finding.id = id;
  finding.memory = memory;
  finding.phase = analysis.account.paths.text(analysis.account.paths.last(peak.path));
  finding.step = peak.step;
  finding.certain = analysis.losses.total() == 0;
  return finding;
}

PeakCandidates in_each_memory(ProcessAnalysis& analysis,
                              void (*propose)(ProcessAnalysis&, replay::MemoryId, PeakCandidates&)) {
  PeakCandidates out;
  for (const auto& [memory, peaks] : analysis.account.peaks) propose(analysis, memory, out);
  return out;
}

void SiteTotals::add(const ProcessAnalysis& analysis, const replay::Holding& holding) {
  if (stacks.empty()) {
    site = holding.stack;
    lifetime = holding.lifetime;
    phase = analysis.account.paths.text(holding.born_phase);
    born_in = holding.born_phase;
    step = holding.born_step;
  }
  bytes += holding.bytes;
  blocks += holding.blocks;
  largest = std::max(largest, holding.largest);
  stacks.insert(holding.stack);
}

void set_blocks(Finding& finding, const SiteTotals& blocks) {
  finding.bytes = static_cast<std::int64_t>(blocks.bytes);
  finding.site = blocks.site;
  finding.stacks.assign(blocks.stacks.begin(), blocks.stacks.end());
  std::sort(finding.stacks.begin(), finding.stacks.end());
}

std::string times_parameters(const ProcessAnalysis& analysis, std::uint64_t bytes) {
  const auto& parameters = analysis.facts().parameters;
  if (!parameters || parameters->bytes == 0) return {};
  return fmt::format(" = {:.3f} P", static_cast<double>(bytes) / static_cast<double>(parameters->bytes));
}

} // namespace memtrace::report
