// Purpose: the blocks that a call tree or a profile is about, with figures that add up to the report's.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/explain/leading_peak.h"

namespace memtrace::report {

// Blocks of one stack, role, kind and phase of birth.
struct HeldGroup {
  std::int64_t bytes = 0; // of the measure; without reservations that were never touched
  std::uint64_t blocks = 0;
  format::StackId stack{}; // 0: the trace has no stack of these blocks
  replay::Role role = replay::Role::unknown;
  format::Kind kind = format::Kind::none;
  replay::NameId born_phase = replay::NameId::other;
  replay::Step born_step = replay::Step::none;
  bool sampled = false; // estimates
};

struct HeldBlocks {
  LeadingPeak peak;
  std::int64_t total = 0;          // bytes; the groups add up to it
  std::vector<HeldGroup> groups{}; // those of the trace, largest first; then the rest without a stack
  std::int64_t reduced = 0; // bytes by which estimates were reduced, because they exceeded the exact total
  bool at_end = false;      // alive at the end instead of the peak
};

// Returns what was alive at the peak. The exact total counts small blocks that have no stack, so the last group
// may be the rest. If the estimates of sampled blocks exceed the total, all are reduced in proportion.
HeldBlocks held_at_peak(const ProcessAnalysis& analysis, const LeadingPeak& leading);

// Returns the blocks of these stacks that were alive at the peak; if there are none, those alive at the end.
HeldBlocks held_by(const ProcessAnalysis& analysis, const LeadingPeak& leading,
                   const std::vector<format::StackId>& stacks);

// Makes the groups add up to `held.total`. Adds a group without a stack, or reduces the groups.
void complete(HeldBlocks& held);

} // namespace memtrace::report
