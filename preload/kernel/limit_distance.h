// Purpose: computes how close the process is to a limit at which the kernel would kill it.
// Pure: it takes figures and returns a decision.
#pragma once

#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::record {

// A process is near a limit if less than an eighth of the limit is left, and less than kNearBytes.
inline constexpr std::uint64_t kNearPart = 8;
inline constexpr std::uint64_t kNearBytes = std::uint64_t{16} << 30;
// For the machine as a whole: less than a sixteenth of its memory.
inline constexpr std::uint64_t kMachinePart = 16;
// Memory pressure that counts as near: the time in which all tasks waited for memory, in hundredths of a
// percent of the last ten seconds.
inline constexpr std::uint32_t kNearPressure = 1000;

class Closeness {
 public:
  bool near = false;
  std::uint64_t left = format::kNotSaid;  // bytes until the closest limit
  std::uint64_t limit = format::kNotSaid; // the closest limit

  // Adds the limit `of`, with `held` bytes used. kNotSaid: there is no limit.
  void to_limit(std::uint64_t held, std::uint64_t of, std::uint64_t part = kNearPart) {
    if (of == format::kNotSaid) return;
    const std::uint64_t here = held < of ? of - held : 0;
    const std::uint64_t close = of / part < kNearBytes ? of / part : kNearBytes;
    if (here < close) near = true;
    if (here >= left) return;
    left = here;
    limit = of;
  }
  void to_machine(std::uint64_t total, std::uint64_t available) {
    if (total == format::kNotSaid || available == format::kNotSaid || available > total) return;
    scarce_ = available < total / 4;
    to_limit(total - available, total, kMachinePart);
  }
  void under_pressure(std::uint32_t full_avg10) {
    if (full_avg10 >= kNearPressure) near = true;
  }
  // Called after to_machine(). The machine's figure includes tasks that wait at the limits of their own
  // cgroups, so it counts only if the machine's memory is scarce.
  void machine_under_pressure(std::uint32_t full_avg10) {
    if (scarce_) under_pressure(full_avg10);
  }

 private:
  bool scarce_ = false; // less than a quarter of the machine's memory is available
};

} // namespace memtrace::record
