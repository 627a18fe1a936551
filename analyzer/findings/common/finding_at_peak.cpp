// Purpose: what findings about a peak have in common: where it was, and blocks of one line of the program.
#include "analyzer/findings/common/finding_at_peak.h"

#include <fmt/format.h>

#include <algorithm>

namespace memtrace::report {

Finding finding_at(const View& view, const char* id, replay::MemoryId memory, const replay::Peak& peak) {
  Finding finding;
  finding.id = id;
  finding.memory = memory;
  finding.phase = view.account.paths.text(view.account.paths.last(peak.path));
  finding.step = peak.step;
  finding.certain = view.losses.total() == 0;
  return finding;
}

Findings in_each_memory(View& view, void (*find)(View&, replay::MemoryId, Findings&)) {
  Findings out;
  for (const auto& [memory, peaks] : view.account.peaks) find(view, memory, out);
  return out;
}

void OfLine::add(const View& view, const replay::Holding& holding) {
  if (stacks.empty()) {
    site = holding.stack;
    lifetime = holding.lifetime;
    phase = view.account.paths.text(holding.born_phase);
    step = holding.born_step;
  }
  bytes += holding.bytes;
  blocks += holding.blocks;
  largest = std::max(largest, holding.largest);
  stacks.insert(holding.stack);
}

std::string times_parameters(const View& view, std::uint64_t bytes) {
  const auto& parameters = view.facts().parameters;
  if (!parameters || parameters->bytes == 0) return {};
  return fmt::format(" = {:.3f} P", static_cast<double>(bytes) / static_cast<double>(parameters->bytes));
}

} // namespace memtrace::report
