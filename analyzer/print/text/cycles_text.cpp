// Purpose: writes the cycles that memtrace guessed as a sentence.
#include "analyzer/print/text/cycles_text.h"

#include <fmt/core.h>

#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {

std::string cycles_text(ProcessAnalysis& analysis) {
  if (!analysis.cycles) return "";
  const replay::Cycles& cycles = *analysis.cycles;
  const replay::Cycle& first = cycles.each.front();
  const replay::TypicalCycle typical = replay::typical_cycle(cycles);
  return fmt::format(
      "A guess, found from the pattern of allocations: the program repeats itself, {} cycles of {}. Each "
      "begins "
      "with a block of {}. The first needs {} above its begin and leaves {}; a typical one needs {} and leaves "
      "{}.",
      cycles.each.size(), duration(static_cast<double>(typical.duration) / 1e9),
      printable(analysis.symbolizer->site(cycles.anchor).line()),
      size(replay::wrapping_sub(first.peak, first.entry)), size(replay::net_of(cycles, 0)),
      size(typical.transient), size(typical.net));
}

} // namespace memtrace::report
