// Purpose: when each training step ran, and how high each lane was in it, in a bounded number of ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/replay/phase_position.h"

namespace memtrace::replay {

// Consecutive steps.
struct StepMark {
  Step first = Step::none;
  format::Stamp start = 0, end = 0;
  std::vector<std::int64_t> highest; // by lane
};

// If there are too many ranges, each two become one.
class StepMarks {
 public:
  // Adds an event that changed a level, or began a step.
  void add(Step step, format::Stamp stamp, const std::vector<std::int64_t>& levels);
  const std::vector<StepMark>& marks() const { return marks_; }

 private:
  static constexpr std::size_t kMost = 4096;
  void halve();

  std::vector<StepMark> marks_;
  Step last_ = Step::none;
  std::uint64_t width_ = 1; // steps of a range
  std::uint64_t taken_ = 0; // by the last range
};

} // namespace memtrace::replay
