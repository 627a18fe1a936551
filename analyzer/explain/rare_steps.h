// Purpose: the few steps of a long run that took much more memory than the others.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/attribute/device_usage.h"
#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/rollup_rows.h"
#include "analyzer/attribute/steady_steps.h"

namespace memtrace::report {

struct RareStep {
  replay::StepSpan steps; // more than one: one of them, and the trace does not tell which
  replay::MemoryId memory = 0;
  replay::Measure measure = replay::Measure::live;
  replay::PathId path = replay::PathId::other;
  std::int64_t rise = 0;      // bytes above the level at the begin of the phase; of several steps, at least
  std::int64_t typical = 0;   // bytes: the same of the typical step
  trace::Ordinal peak_at = 0; // 0: the events were dropped
  format::StackId stack{};    // made its largest block; 0: not known
  std::uint64_t block = 0;    // bytes of that block
};

inline constexpr std::size_t kMostRareSteps = 10;

// Returns the steps whose phases rise at least 16 MiB, half and a hundredth of the peak above those of the
// typical step, by step. At most kMostRareSteps: the highest. Returns none if a run has fewer than 1,000 steps,
// or more than 100 of such steps: then they are not rare.
std::vector<RareStep> find_rare_steps(const replay::Account& account, const replay::Steady& steady,
                                      const replay::Buckets& buckets);
// Adds which line made the largest block, from what was alive at their peaks.
void find_their_blocks(const std::map<replay::Instant, replay::Holdings>& sets, std::vector<RareStep>& steps);

} // namespace memtrace::report
