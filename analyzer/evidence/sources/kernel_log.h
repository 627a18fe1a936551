// Purpose: what a kernel's log says of processes that the kernel ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Reads a log line by line: dmesg, journalctl -k, /var/log/kern.log, with whatever stands before the kernel's
// words. Knows what kernels from 4.0 on write.
class KernelLog {
 public:
  // `near_unix`: when the process in question was there, for times without a year.
  KernelLog(Evidence& into, double near_unix) : into_(into), near_unix_(near_unix) {}
  void line(std::string_view text);
  void all(std::string_view text);
  // Of a line whose time is known.
  void line(std::string_view text, const When& when);
  // Seconds since boot of the oldest line that says it.
  std::optional<double> from() const { return from_; }

 private:
  void reason(std::string_view text);
  void killed(std::string_view text, const When& when);
  void fault(std::string_view text, const When& when);

  Evidence& into_;
  double near_unix_;
  std::optional<double> from_;
  Kill said_;             // what was said ahead of a kill that is still to come
  std::string all_below_; // the cgroup of which all are killed
};

// Whether it has anything that KernelLog reads.
bool is_kernel_log(std::string_view text);

} // namespace memtrace::evidence
