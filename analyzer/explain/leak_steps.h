// Purpose: in which steps a leak shows, and where to look at what is alive.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/phase_accounting.h"

namespace memtrace::report {

// The steps after the first one that updated, which makes states and caches, and before the last: some of its
// blocks may still be in use.
struct LeakSteps {
  std::int64_t from = 0;
  std::int64_t to = -1; // inclusive
  std::int64_t count() const { return to - from + 1; }
};
LeakSteps leak_steps(const replay::Account& account);

// Returns the highest point of the last step. None: too few steps to tell a leak.
std::optional<replay::Instant> leak_instant(const replay::Account& account, replay::MemoryId memory);

} // namespace memtrace::report
