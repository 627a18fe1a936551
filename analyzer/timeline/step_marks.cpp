// Purpose: when each training step ran, and how high each lane was in it, in a bounded number of ranges.
#include "analyzer/timeline/step_marks.h"

#include <algorithm>

namespace memtrace::replay {

void StepMarks::add(Step step, format::Stamp stamp, const std::vector<std::int64_t>& levels) {
  if (step == Step::none) return;
  if (marks_.empty() || (step != last_ && taken_ == width_)) {
    if (marks_.size() == kMost) halve();
    const format::Stamp start = marks_.empty() ? stamp : std::max(stamp, marks_.back().end);
    marks_.push_back({step, start, start, levels});
    taken_ = 0;
  }
  if (step != last_) ++taken_;
  last_ = step;
  StepMark& mark = marks_.back();
  mark.end = std::max(mark.end, stamp);
  for (std::size_t lane = 0; lane < levels.size(); ++lane)
    mark.highest[lane] = std::max(mark.highest[lane], levels[lane]);
}

void StepMarks::halve() {
  for (std::size_t i = 0; i < kMost / 2; ++i) {
    StepMark joined = marks_[2 * i];
    const StepMark& later = marks_[2 * i + 1];
    joined.end = later.end;
    for (std::size_t lane = 0; lane < joined.highest.size(); ++lane)
      joined.highest[lane] = std::max(joined.highest[lane], later.highest[lane]);
    marks_[i] = std::move(joined);
  }
  marks_.resize(kMost / 2);
  width_ *= 2;
}

} // namespace memtrace::replay
