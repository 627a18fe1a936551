// Purpose: writes a line for each snapshot of the program.
#include "analyzer/print/text/snapshots_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/print/text/largest_lines.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kMostSnapshots = 8; // without --all

std::string snapshot_text(ProcessAnalysis& analysis, const replay::MarkedInstant& marked,
                          replay::MemoryId memory) {
  const replay::Level level = memory < marked.levels.size() ? marked.levels[memory] : replay::Level{};
  const replay::Holdings& alive = analysis.set({memory, replay::Measure::live, marked.at});
  const auto untouched =
      memory == 0 ? static_cast<std::int64_t>(analysis.reservations.untouched(marked.at)) : std::int64_t{0};
  const std::int64_t bytes = replay::wrapping_sub(level.live, untouched);
  std::string text = fmt::format("Snapshot {}, at {:.1f} s: {} allocated",
                                 printable(analysis.trace->definitions().text(marked.name)),
                                 analysis.seconds(marked.stamp), size(bytes));
  if (level.tensor != 0) text += fmt::format(", {} of tensors", size(level.tensor));
  if (const std::string largest = largest_lines(analysis, alive, bytes); !largest.empty())
    text += "; largest, by your line: " + largest;
  return text;
}

} // namespace

void write_snapshots(ProcessAnalysis& analysis, replay::MemoryId memory, bool all, Lines& lines) {
  const std::vector<replay::MarkedInstant>& marked = analysis.account.instants.all();
  if (marked.empty()) return;
  lines.gap();
  const std::size_t shown = all ? marked.size() : std::min(marked.size(), kMostSnapshots);
  for (std::size_t i = 0; i < shown; ++i) lines.paragraph("", snapshot_text(analysis, marked[i], memory));
  if (shown < marked.size())
    lines.paragraph("", fmt::format("{} more snapshots: memtrace report --all", marked.size() - shown));
  if (const std::uint64_t left_out = analysis.account.instants.left_out(); left_out != 0)
    lines.paragraph("", fmt::format("Left out: {} snapshots between the first {} and the last {}", left_out,
                                    marked.size() / 2, marked.size() - marked.size() / 2));
}

} // namespace memtrace::report
