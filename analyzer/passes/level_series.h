// Purpose: the levels of each memory over time, thinned so that every peak stays.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

enum class SeriesMeasure : std::uint8_t { live, tensor, reserved, used, rss };

struct LevelPoint {
  format::Stamp stamp = 0;
  std::int64_t bytes = 0;
  trace::Ordinal at = 0; // just after this event
};

struct LevelSeries {
  MemoryId memory = 0;
  SeriesMeasure measure = SeriesMeasure::live;
  std::vector<LevelPoint> points; // by time; the level holds until the next point
  // Of all levels, before they are thinned, from the first one to the end of the process.
  double seconds = 0;
  double byte_seconds = 0; // the sum of each level times the seconds that it held
};

// Divides the time of the trace into intervals of equal length. Of each interval and series, returns the first
// of the highest levels, the first of the lowest levels and the last level, at their times. So the highest
// point of a series is its peak, and each point is a level that was there. A series that is always 0 is left
// out. `used` is what the GPU reported for this process, or for all processes if it reports no other figure.
std::vector<LevelSeries> level_series(const trace::Trace& trace, std::size_t intervals);

} // namespace memtrace::replay
