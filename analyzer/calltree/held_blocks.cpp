// Purpose: the blocks that a call tree or a profile is about, with figures that add up to the report's.
#include "analyzer/calltree/held_blocks.h"

#include <algorithm>
#include <cmath>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

using replay::Holding;

std::int64_t touched_bytes(const Holding& holding) {
  return static_cast<std::int64_t>(holding.bytes - std::min(holding.untouched, holding.bytes));
}

HeldGroup group_of(const Holding& holding) {
  return {.bytes = touched_bytes(holding),
          .blocks = holding.blocks,
          .stack = holding.stack,
          .role = holding.role,
          .kind = holding.kind,
          .born_phase = holding.born_phase,
          .born_step = holding.born_step,
          .sampled = holding.sampled};
}

std::int64_t sum_of(const std::vector<HeldGroup>& groups, bool sampled_only) {
  std::int64_t out = 0;
  for (const HeldGroup& group : groups)
    if (group.sampled || !sampled_only) out = replay::wrapping_add(out, group.bytes);
  return out;
}

// Takes `excess` bytes from groups that have `all` bytes together, in proportion. Each group gets the
// difference of two rounded cumulative sums, so the parts add up exactly. 0 < excess <= all.
void reduce(std::vector<HeldGroup>& groups, bool sampled_only, std::int64_t excess, std::int64_t all) {
  const long double keep = static_cast<long double>(all - excess) / static_cast<long double>(all);
  std::int64_t before = 0;
  std::int64_t given = 0;
  for (HeldGroup& group : groups) {
    if (sampled_only && !group.sampled) continue;
    before = replay::wrapping_add(before, group.bytes);
    const auto up_to = before == all
                           ? all - excess
                           : static_cast<std::int64_t>(std::floor(static_cast<long double>(before) * keep));
    group.bytes = replay::wrapping_sub(up_to, given);
    given = up_to;
  }
}

} // namespace

void complete(HeldBlocks& held) {
  held.total = std::max<std::int64_t>(held.total, 0); // below 0 only in a trace with losses
  const std::int64_t all = sum_of(held.groups, false);
  const std::int64_t excess = replay::wrapping_sub(all, held.total);
  if (excess < 0) held.groups.push_back({.bytes = -excess, .kind = format::Kind::heap});
  if (excess <= 0) return;
  held.reduced = excess;
  const std::int64_t sampled = sum_of(held.groups, true);
  const bool only_sampled = sampled >= excess; // else the trace has losses
  reduce(held.groups, only_sampled, excess, only_sampled ? sampled : all);
}

HeldBlocks held_at_peak(const ProcessAnalysis& analysis, const LeadingPeak& leading) {
  HeldBlocks out{.peak = leading, .total = leading.bytes};
  if (!peak_of(analysis, leading).bucket) // else its events were dropped
    for (const Holding& holding : alive_at_peak(analysis, leading)) out.groups.push_back(group_of(holding));
  complete(out);
  return out;
}

HeldBlocks held_by(const ProcessAnalysis& analysis, const LeadingPeak& leading,
                   const std::vector<format::StackId>& stacks) {
  HeldBlocks out{.peak = leading};
  const auto take = [&](const replay::Holdings& alive) {
    for (const Holding& holding : alive)
      if (std::find(stacks.begin(), stacks.end(), holding.stack) != stacks.end())
        out.groups.push_back(group_of(holding));
  };
  take(alive_at_peak(analysis, leading));
  if (out.groups.empty()) {
    out.at_end = true;
    take(alive_at_end(analysis, leading));
  }
  out.total = sum_of(out.groups, false);
  return out;
}

} // namespace memtrace::report
