// Purpose: computes the pages that the kernel's counters of RSS leave out, and when to measure them again.
// Pure: it takes figures and returns decisions.
//
// Linux 6.2 to 6.15 keeps a part of each counter on each CPU. It adds the part to the sum when the part has
// reached max(32, 2 * CPUs) pages. statm and status show only the sum; stable kernels since 2025 show all.
// smaps_rollup counts pages, and takes some ms for each GiB.
#pragma once

#include <cstdint>

#include "preload/format/file_headers.h"
#include "preload/kernel/statm.h"

namespace memtrace::record {

class RssCounters {
 public:
  static constexpr std::uint64_t kCounters = 3;         // anonymous, file, shared memory
  static constexpr std::uint64_t kLeastBatch = 32;      // pages
  static constexpr std::uint64_t kMattersPart = 100;    // of RSS
  static constexpr std::uint64_t kMatters = 4 << 20;    // bytes, at least
  static constexpr std::uint64_t kShare = 1000;         // one part of the time is for measurements
  static constexpr std::uint64_t kMostNs = 100'000'000; // the longest time of a measurement
  static constexpr unsigned kSure = 2;                  // measurements without a difference

  // The figures of smaps_rollup, and the counters before and after it.
  struct RssReading {
    Statm before;
    std::uint64_t resident;
    std::uint64_t anonymous;
    Statm after;
    std::uint64_t cost; // ns
  };

  void set_cpus(std::uint64_t online) { cpus_ = online; }
  // In a forked child: its counters begin anew, but its kernel does not change.
  void forked() {
    RssCounters fresh;
    fresh.cpus_ = cpus_;
    if (are_exact()) fresh.agreed_ = kSure;
    *this = fresh;
  }

  // True if a measurement is due. `resident`: RSS as it is known.
  bool is_due(std::uint64_t now, std::uint64_t resident) const {
    if (are_exact() || most_off() <= larger(resident / kMattersPart, kMatters)) return false;
    if (now < next_ || resident <= highest_) return false;
    return highest_ == 0 || static_cast<double>(cost_) * static_cast<double>(resident) <=
                                static_cast<double>(kMostNs) * static_cast<double>(highest_);
  }
  void looked(std::uint64_t now, const RssReading& look) {
    highest_ = look.resident;
    cost_ = look.cost;
    next_ = now + look.cost * kShare;
    anonymous_ =
        off(look.anonymous, look.before.resident - look.before.shared, look.after.resident - look.after.shared);
    other_ = off(look.resident - look.anonymous, look.before.shared, look.after.shared);
    const bool still = look.before.resident == look.after.resident && look.before.shared == look.after.shared;
    agreed_ = still && anonymous_ == 0 && other_ == 0 ? agreed_ + 1 : 0;
  }

  // Return the bytes to add to the counters: 0 if the counters are exact.
  std::int64_t anonymous() const { return anonymous_; }
  std::int64_t other() const { return other_; }

 private:
  static std::uint64_t larger(std::uint64_t a, std::uint64_t b) { return a > b ? a : b; }
  // Returns the difference between the counted bytes and the counter. Pages come and go during the count, so
  // the counter is taken as the mean of `before` and `after`.
  static std::int64_t off(std::uint64_t counted, std::uint64_t before, std::uint64_t after) {
    return static_cast<std::int64_t>(counted - (before / 2 + after / 2));
  }
  bool are_exact() const { return agreed_ >= kSure; }
  std::uint64_t most_off() const { return kCounters * cpus_ * larger(kLeastBatch, 2 * cpus_) * format::kPage; }

  std::uint64_t cpus_ = 1;
  std::uint64_t highest_ = 0; // RSS at the last measurement
  std::uint64_t cost_ = 0;    // of the last measurement
  std::uint64_t next_ = 0;    // earliest time of the next measurement
  std::int64_t anonymous_ = 0;
  std::int64_t other_ = 0;
  unsigned agreed_ = 0; // measurements in a row without a difference
};

} // namespace memtrace::record
