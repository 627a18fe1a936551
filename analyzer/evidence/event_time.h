// Purpose: compares the time of an event of a log with the end of a process.
#pragma once

#include <optional>

#include "analyzer/evidence/subject.h"

namespace memtrace::evidence {

// Returns the largest distance of the two clocks, in s: that of the kernel's log is not slewed like
// CLOCK_MONOTONIC. They drift apart by some 50 s in a week.
double drift(double boot);

// Returns the seconds from the last record of the process to this event, or a negative number if the event was
// earlier. Returns nullopt if the event has no time.
std::optional<double> after_end(const When& when, const Subject& subject);

// True if the event was at most `early` s before and `late` s after the last record, as far as the clocks show.
bool in_time(const When& when, const Subject& subject, double late, double early = 0);

// True if two paths may name the same cgroup. A process in a cgroup namespace sees only the end of its path.
bool same_group(const std::string& kernels, const std::string& own);

} // namespace memtrace::evidence
