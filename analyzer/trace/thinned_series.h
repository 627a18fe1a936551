// Purpose: a list that does not grow without bound.
#pragma once

#include <cstddef>
#include <vector>

namespace memtrace::trace {

// Appends: all of late, fewer of long ago.
template <class T>
void keep_thinned(std::vector<T>& list, const T& value) {
  constexpr std::ptrdiff_t kThinned = 1024; // the older half, once there are twice as many
  list.push_back(value);
  if (list.size() < 2 * kThinned) return;
  for (std::size_t i = 0; i < kThinned / 2; ++i) list[i] = list[2 * i];
  list.erase(list.begin() + kThinned / 2, list.begin() + kThinned);
}

} // namespace memtrace::trace
