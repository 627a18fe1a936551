// Purpose: a figure that the kernel or a driver measured from time to time, in a bounded number of points.
#include "analyzer/timeline/measured_line.h"

#include <algorithm>

namespace memtrace::replay {

void MeasuredLine::add(format::Stamp stamp, std::uint64_t bytes) {
  if (!points_.empty()) stamp = std::max(stamp, points_.back().stamp);
  if (points_.empty() || taken_ == width_) {
    if (points_.size() == kMost) {
      for (std::size_t i = 0; i < kMost / 2; ++i)
        points_[i] = points_[2 * i].bytes >= points_[2 * i + 1].bytes ? points_[2 * i] : points_[2 * i + 1];
      points_.resize(kMost / 2);
      width_ *= 2;
    }
    points_.push_back({stamp, bytes});
    taken_ = 1;
    return;
  }
  ++taken_;
  if (bytes > points_.back().bytes) points_.back() = {stamp, bytes};
}

} // namespace memtrace::replay
