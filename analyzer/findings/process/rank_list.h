// Purpose: names some ranks in a line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memtrace::report {

// Returns "0, 1, 2", at most eight of them.
inline std::string rank_list(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kMostRanks = 8;
  std::string out;
  for (std::size_t i = 0; i < ranks.size() && i < kMostRanks; ++i)
    out += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return ranks.size() > kMostRanks ? out + ", ..." : out;
}

} // namespace memtrace::report
