// Purpose: a figure that the kernel or a driver measured from time to time, in a bounded number of points.
#pragma once

#include <cstdint>
#include <vector>

#include "preload/format/records.h"

namespace memtrace::replay {

struct MeasuredPoint {
  format::Stamp stamp = 0;
  std::uint64_t bytes = 0;
};

// If there are too many points, the higher one of each two remains. So the highest point remains in any case.
class MeasuredLine {
 public:
  void add(format::Stamp stamp, std::uint64_t bytes);
  const std::vector<MeasuredPoint>& points() const { return points_; }

 private:
  static constexpr std::size_t kMost = 4096;
  std::vector<MeasuredPoint> points_;
  std::uint64_t width_ = 1; // samples of one point
  std::uint64_t taken_ = 0; // by the last point
};

} // namespace memtrace::replay
