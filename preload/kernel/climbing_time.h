// Purpose: measures the time in which the memory of the process climbs to new peaks. Pure: it takes figures,
// and returns times.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Looks at blocks may cost more while memory climbs. A process that repeats its steps has no new
// peaks, however young it is.
class ClimbingTime {
 public:
  static constexpr std::uint64_t kNewPeak = 256;            // 1 part more than the highest
  static constexpr std::uint64_t kSteadyNs = 1'000'000'000; // without a new peak: memory does not climb
  static constexpr std::uint64_t kMostNs = 10'000'000'000;  // a program that leaks climbs for ever

  void look(std::uint64_t now, std::uint64_t live, std::uint64_t resident) {
    const std::uint64_t until = climbs(now) ? now : rose_ + kSteadyNs;
    if (looked_ != 0 && until > looked_) time_ += until - looked_;
    if (time_ > kMostNs) time_ = kMostNs;
    looked_ = now;
    const bool higher_live = rises(live_, live), higher_resident = rises(resident_, resident);
    if (higher_live || higher_resident) rose_ = now;
  }
  // Returns the time until the last look, in ns: kMostNs at most.
  std::uint64_t time() const { return time_; }
  bool climbs(std::uint64_t now) const { return now - rose_ < kSteadyNs; }

 private:
  static bool rises(std::uint64_t& highest, std::uint64_t value) {
    if (value <= highest + highest / kNewPeak) return false;
    highest = value;
    return true;
  }

  std::uint64_t live_ = 0;
  std::uint64_t resident_ = 0;
  std::uint64_t rose_ = 0;
  std::uint64_t looked_ = 0;
  std::uint64_t time_ = 0;
};

} // namespace memtrace::record
