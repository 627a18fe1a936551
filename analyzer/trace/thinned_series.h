// Purpose: a list of bounded length.
#pragma once

#include <cstddef>
#include <vector>

namespace memtrace::trace {

// Appends `value`. If the list is full, drops every second value of its older half.
template <class T>
void keep_thinned(std::vector<T>& list, const T& value) {
  constexpr std::ptrdiff_t kThinned = 1024; // length of the older half of a full list
  list.push_back(value);
  if (list.size() < 2 * kThinned) return;
  for (std::size_t i = 0; i < kThinned / 2; ++i) list[i] = list[2 * i];
  list.erase(list.begin() + kThinned / 2, list.begin() + kThinned);
}

} // namespace memtrace::trace
