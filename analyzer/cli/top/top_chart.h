// Purpose: bars of block characters, for the steps in `memtrace top`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace memtrace::cli {

struct Chart {
  std::int64_t low = 0, high = 0; // the figures at the bottom and at the top
  std::vector<std::string> lines; // the highest first
};

// Returns a chart with one column for each value. The bottom is the lowest value, or less if they hardly
// differ: a difference of 1 % fills the chart at most.
Chart chart(std::span<const std::int64_t> values, std::size_t rows, bool utf8);

} // namespace memtrace::cli
