// Purpose: orders the processes of a job: which of them a report leads with, and which ended first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/job/job_process.h"

namespace memtrace::report {

// How a process ended, the worst first.
// `followed`: a manager killed it because another process had failed.
enum class Gravity : std::uint8_t { died_for_memory, signal_or_unknown, failing_exit, followed, other };
Gravity gravity(const Process& process);

// Returns the time of the last record, in s since 1970.
double last_unix(const Process& process);
// Returns "rank 3", or "pid 7081" for a process that is not a rank.
std::string short_name(const Process& process);
// Returns the seconds by which `a` ended after `b`. The kernel's log decides if it has both, else `memtrace
// run` if it saw both. Else their last records decide, which an idle process makes twice a second. If a manager
// killed one of them because the other had died, it ended later.
double ended_after(const Process& a, const Process& b);

// Returns the processes that may lead if only their peaks decide: two or more, or none.
std::vector<Process*> tied_for_lead(std::vector<Process>& processes);

// Sorts the processes. The first is the one that a report leads with. A process that died for memory comes
// first, the first to die. Then comes one that came within a tenth of a limit of its cgroup, then one with a
// model, rank 0 of equals. Then comes the one with the highest `peak`, or VmHWM where that is not set. Workers
// come after the others, which made them. Ties: by start time.
void put_leading_first(std::vector<Process>& processes);

} // namespace memtrace::report
