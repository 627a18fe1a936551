// Purpose: reads from a kernel's log which processes the kernel ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Reads a log line by line: dmesg, journalctl -k, /var/log/kern.log. Any text may precede the kernel's message.
// Knows the messages of kernels since 4.0.
class KernelLog {
 public:
  // `near_unix`: a time when the process ran. It completes times without a year.
  KernelLog(Evidence& into, double near_unix) : into_(into), near_unix_(near_unix) {}
  void line(std::string_view text);
  void all(std::string_view text);
  // Reads a line whose time is known.
  void line(std::string_view text, const When& when);
  // Returns the seconds since boot of the oldest line that has such a time.
  std::optional<double> from() const { return from_; }

 private:
  void reason(std::string_view text);
  void killed(std::string_view text, const When& when);
  void fault(std::string_view text, const When& when);

  Evidence& into_;
  double near_unix_;
  std::optional<double> from_;
  Kill said_;             // what earlier lines state about the next kill
  std::string all_below_; // the cgroup whose processes are all killed
};

// True if the text has a line that KernelLog reads.
bool is_kernel_log(std::string_view text);

} // namespace memtrace::evidence
