// Purpose: decides when to read RSS between two samples, because no event announces a page and a kill gives no
// warning. Pure: it takes figures, and returns times and decisions.
#pragma once

#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::record {

class Growth {
 public:
  static constexpr std::uint64_t kIdleNs = 5'000'000; // the shortest pause while RSS does not grow
  static constexpr std::uint64_t kLeastNs = 500'000;  // at least
  static constexpr std::uint64_t kMostNs = 250'000'000;
  // The bytes per ns that a program may begin to touch at any time. One thread touches 17 in huge pages. With
  // 16, two of 60 programs that filled 1.2 GiB at once were killed before the first reading.
  static constexpr std::uint64_t kFastest = 32;
  static constexpr std::uint64_t kLooks = 8; // readings until the limit, at the present pace
  static constexpr std::uint64_t kLeastStep = std::uint64_t{4} << 20;
  static constexpr std::uint64_t kStepPart = 512; // of a limit
  static constexpr std::uint64_t kClosePart = 12;
  static constexpr std::uint64_t kLeastClose = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kFarPart = 16; // of RSS: growth that causes a sample even if no limit is close

  // Called at a sample of the cgroups. `left`: the bytes until the closest limit.
  void set_limit(std::uint64_t now, std::uint64_t left, std::uint64_t limit, std::uint64_t resident) {
    const std::uint64_t less = left_ != format::kNotSaid && left < left_ ? left_ - left : 0;
    others_pace_ = per_ns(less, now - limit_time_);
    limit_time_ = now;
    left_ = left;
    limit_ = limit;
    at_limit_ = resident;
    look(now, resident);
    sampled_ = resident;
  }
  void look(std::uint64_t now, std::uint64_t resident) {
    const double pace = per_ns(resident > resident_ ? resident - resident_ : 0, now - looked_);
    // The pace at most halves, because a thread that waits for a CPU continues later.
    pace_ = looked_ == 0 ? 0 : pace > pace_ / 2 ? pace : pace_ / 2;
    looked_ = now;
    resident_ = resident;
  }
  void sampled() { sampled_ = resident_; }

  // True if RSS has grown so much since the last sample that the trace of a kill now would be wrong.
  bool wants_sample() const {
    const std::uint64_t grown = resident_ > sampled_ ? resident_ - sampled_ : 0;
    return grown >= (is_close() ? step() : resident_ / kFarPart + kLeastStep);
  }
  // Returns the time from which RSS must be read again.
  std::uint64_t due() const { return looked_ + pause(); }
  bool half_is_gone() const { return left_ != format::kNotSaid && left() < left_ / 2; }

 private:
  static double per_ns(std::uint64_t bytes, std::uint64_t ns) {
    return ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(ns);
  }
  static std::uint64_t larger(std::uint64_t a, std::uint64_t b) { return a > b ? a : b; }
  static std::uint64_t lesser(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

  std::uint64_t step() const { return larger(kLeastStep, limit_ / kStepPart); }
  bool is_close() const {
    return left_ != format::kNotSaid && left() < larger(kLeastClose, limit_ / kClosePart);
  }
  // Returns the bytes left until the limit. Since the limit was read, this process grew, or other processes of
  // the cgroup did: subtracts the larger growth.
  std::uint64_t left() const {
    const std::uint64_t own = resident_ > at_limit_ ? resident_ - at_limit_ : 0;
    const auto all = static_cast<std::uint64_t>(others_pace_ * static_cast<double>(looked_ - limit_time_));
    const std::uint64_t gone = larger(own, all);
    return gone < left_ ? left_ - gone : 0;
  }
  std::uint64_t pause() const {
    if (left_ == format::kNotSaid) return kMostNs;
    const std::uint64_t here = left();
    const std::uint64_t idle = lesser(larger(here / kFastest, kIdleNs), kMostNs);
    const double pace = pace_ > others_pace_ ? pace_ : others_pace_;
    if (pace <= 0) return idle;
    const double at_pace = static_cast<double>(here) / kLooks / pace;
    if (at_pace >= static_cast<double>(idle)) return idle;
    return larger(static_cast<std::uint64_t>(at_pace), kLeastNs);
  }

  std::uint64_t left_ = format::kNotSaid; // at the last sample of the cgroups
  std::uint64_t limit_ = 0;
  std::uint64_t limit_time_ = 0;
  std::uint64_t at_limit_ = 0; // RSS at that time
  double others_pace_ = 0;     // of the cgroup, between its last two samples
  std::uint64_t looked_ = 0;
  std::uint64_t resident_ = 0;
  double pace_ = 0;
  std::uint64_t sampled_ = 0; // RSS at the last sample
};

} // namespace memtrace::record
