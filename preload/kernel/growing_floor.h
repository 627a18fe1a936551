// Purpose: tells whether the lowest level of each minute grows: a leak raises it, a peak of a step does not.
// Runs: inside the program's malloc. No lock: two threads may lose a look.
#pragma once

#include <cstdint>

namespace memtrace::record {

// The lowest level of a minute is its floor. The lowest floor after the first ten minutes is the reference: a
// model and its data are loaded by then. A floor above the reference by the wanted bytes is growth.
class GrowingFloor {
 public:
  void see(std::int64_t level) {
    if (level < floor_) floor_ = level;
  }
  // Call it at any time; it judges once a minute.
  bool grew(std::uint64_t now, std::int64_t bytes) {
    if (next_ == 0) next_ = now + kMinuteNs;
    if (now < next_) return false;
    next_ = now + kMinuteNs;
    const std::int64_t floor = floor_;
    floor_ = INT64_MAX;
    if (floor == INT64_MAX) return false; // no event in this minute
    if (++minutes_ <= kLoading) return false;
    if (floor < reference_) reference_ = floor;
    return floor - reference_ >= bytes;
  }

  static constexpr std::uint64_t kMinuteNs = 60'000'000'000;
  static constexpr std::uint32_t kLoading = 10; // minutes

 private:
  std::int64_t floor_ = INT64_MAX;
  std::int64_t reference_ = INT64_MAX;
  std::uint64_t next_ = 0;
  std::uint32_t minutes_ = 0;
};

} // namespace memtrace::record
