// Purpose: selects the steps that show a leak, and the instant to look at live blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/phase_accounting.h"

namespace memtrace::report {

inline constexpr std::int64_t kFewestSteps = 12; // that show a leak: three for each quarter

// The steps after the first update and before the last step. The first update makes states and caches; blocks
// of the last step may still be in use.
struct LeakSteps {
  std::int64_t from = 0;
  std::int64_t to = -1; // inclusive
  std::int64_t count() const { return to - from + 1; }
};
LeakSteps leak_steps(const replay::Account& account);

// Returns the highest point of a step, or nullopt if the step is none or has no level above 0.
std::optional<replay::Instant> highest_in(const replay::Account& account, replay::Step step,
                                          replay::MemoryId memory, replay::Measure measure);
// Returns the highest point of the last step, else the end of the trace. At the end of the process, Python has
// freed what its modules kept.
replay::Instant end_instant(const replay::Account& account, replay::MemoryId memory, replay::Measure measure);
// Returns the highest point of the last step, or nullopt if there are too few steps to detect a leak.
std::optional<replay::Instant> leak_instant(const replay::Account& account, replay::MemoryId memory);

} // namespace memtrace::report
