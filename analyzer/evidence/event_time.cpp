// Purpose: compares the time of an event of a log with the end of a process.
#include "analyzer/evidence/event_time.h"

#include <cmath>

namespace memtrace::evidence {

double drift(double boot) {
  return 2 + 1e-4 * boot;
}

std::optional<double> after_end(const When& when, const Subject& subject) {
  constexpr double kQuarter = 900; // s: local times differ from UTC by a multiple of this
  if (when.boot) return *when.boot - subject.last;
  if (!when.unix) return std::nullopt;
  const double apart = *when.unix - subject.last_unix;
  if (when.zoned) return apart;
  return std::abs(apart) > 15 * 3600 ? apart : std::remainder(apart, kQuarter);
}

bool in_time(const When& when, const Subject& subject, double late, double early) {
  const auto apart = after_end(when, subject);
  const double slack = when.boot ? drift(subject.last) : 2;
  return apart && *apart >= -early - slack && *apart <= late + slack;
}

bool same_group(const std::string& kernels, const std::string& own) {
  if (kernels.empty() || own.empty() || own == "/") return true;
  return kernels == own || kernels.ends_with(own);
}

} // namespace memtrace::evidence
