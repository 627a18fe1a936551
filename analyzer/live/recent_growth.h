// Purpose: the growth of a level, from its last values at equal places.
#pragma once

#include <cstdint>
#include <span>

namespace memtrace::live {

struct GrowthPoint {
  double at = 0; // a step, or seconds
  std::int64_t bytes = 0;
};

// Returns the growth in bytes per unit of `at`: the median over values that are half of the series apart. So
// one step with more memory, or a pattern that repeats, has no effect. Returns 0 for fewer than 4 values, or if
// all of the series grows by less than 2 MiB, and if it falls.
double growth(std::span<const GrowthPoint> series);

} // namespace memtrace::live
