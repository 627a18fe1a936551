// Purpose: when the PSS of a process is worth a sample. The kernel walks each page for one: 3 to 6 ms for a
// process that has imported PyTorch, some 20 ms for each GiB in small pages.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Times are in ns of the monotonic clock, sizes in bytes.
class ShareSchedule {
 public:
  // True if a sample is due. Samples are at least half a second apart and take 0.1 % of the time. In the first
  // ten seconds they take up to 1 % more, but only if there is news. Without that condition, they took 2.4 % of
  // all samples of perf in a loader with two workers. `resident`: returns RSS; called only if that decides.
  template <class Resident>
  bool is_due(std::uint64_t now, Resident resident) {
    if (began_ == 0) began_ = now;
    const std::uint64_t since = now - (taken_ != 0 ? taken_ : began_);
    if (since >= gap(kPart)) return true;
    if (now - began_ >= kEarlyNs || since < gap(kEarlyPart) || now - looked_ < kLeastGapNs) return false;
    looked_ = now;
    return has_news(now, resident());
  }

  // True if the process is three times as old as it was at the last sample, or RSS has changed by a sixteenth.
  // The age counts because a forked child copies pages of its parent: that changes PSS, but not RSS.
  bool has_news(std::uint64_t now, std::uint64_t resident) const {
    if (taken_ == 0 || now - began_ >= 3 * (taken_ - began_)) return true;
    const std::uint64_t moved = resident > resident_ ? resident - resident_ : resident_ - resident;
    return moved >= resident_ / 16;
  }

  // `cost`: CPU time of the sample.
  void took(std::uint64_t now, std::uint64_t cost, std::uint64_t resident) {
    if (began_ == 0) began_ = now;
    taken_ = looked_ = now;
    cost_ = cost;
    resident_ = resident;
  }

  // True if a sample takes too long for the end of the process.
  bool is_dear() const { return cost_ >= kDearNs; }

 private:
  static constexpr std::uint64_t kLeastGapNs = 500'000'000;
  static constexpr std::uint64_t kPart = 1000;
  static constexpr std::uint64_t kEarlyPart = 90;
  static constexpr std::uint64_t kEarlyNs = 10'000'000'000;
  static constexpr std::uint64_t kDearNs = 50'000'000;

  std::uint64_t gap(std::uint64_t part) const {
    return cost_ * part > kLeastGapNs ? cost_ * part : kLeastGapNs;
  }

  std::uint64_t began_ = 0;
  std::uint64_t taken_ = 0;  // time of the last sample
  std::uint64_t looked_ = 0; // time of the last look at RSS
  std::uint64_t cost_ = 0;   // of the last sample
  std::uint64_t resident_ = 0;
};

} // namespace memtrace::record
