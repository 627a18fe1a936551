// Purpose: percentiles and the median of figures, as values that occurred.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace memtrace::replay {

// Returns the value at `percent` of the way through the sorted values. The position is rounded down to that of
// a value. `values` must not be empty.
template <typename T>
T percentile(std::vector<T> values, std::size_t percent) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * percent / 100);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Returns the lower of the two middle values.
template <typename T>
T median(std::vector<T> values) {
  return percentile(std::move(values), 50);
}

} // namespace memtrace::replay
