// Purpose: estimates how much a level grows in each step, from readings that come once a second. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace memtrace::watch {

// The level swings within a step, and a reading may be at any place of it. So it compares the medians of the
// first and of the last quarter of the readings.
class StepGrowth {
 public:
  static constexpr std::size_t kMost = 256;  // readings; then every second one is dropped
  static constexpr std::size_t kFewest = 16; // for an answer

  // Takes a reading, if the step is another one than at the reading before.
  void add(std::int64_t step, std::uint64_t level);
  // Returns bytes per step. Returns nullopt if there are too few readings.
  std::optional<double> bytes_per_step() const;

 private:
  struct StepReading {
    std::int64_t step;
    std::uint64_t level;
  };
  std::vector<StepReading> readings_;
  std::uint64_t stride_ = 1; // takes each so many readings
  std::uint64_t seen_ = 0;
  std::int64_t last_ = -1;
};

} // namespace memtrace::watch
