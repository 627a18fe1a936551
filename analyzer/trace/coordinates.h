// Purpose: the place of a rank in the grid of its job, such as pp 0, dp 1, tp 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/trace/process_facts.h"

namespace memtrace::trace {

struct Coordinate {
  std::string axis;
  std::uint32_t place = 0;
  bool operator==(const Coordinate&) const = default;
};
using Coordinates = std::vector<Coordinate>; // slowest axis first

// Returns the coordinates by the grid of MEMTRACE_RANKS if it fits the job, else those that the program's mesh
// or groups have. Returns none if the process has no rank, or if neither is known.
Coordinates coordinates_of(const Facts& facts);

// Returns the coordinate on the pipeline's axis; 0 if there is none. Pipeline stages hold other parts of the
// model, so they need different amounts of memory.
std::uint32_t stage_of(const Coordinates& coordinates);

// Returns "pp 0, dp 1, tp 3"; "" for none.
std::string text_of(const Coordinates& coordinates);

// Returns why the grid of MEMTRACE_RANKS is not used, or "" if it is used or there is none.
std::string grid_misfit(const Facts& facts);

} // namespace memtrace::trace
