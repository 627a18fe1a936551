// Purpose: finds whether a traced process still runs on this machine.
#pragma once

#include <string>

#include "analyzer/trace/process_facts.h"

namespace memtrace::report {

inline constexpr char kFirstPids[] = "4026531836"; // the first pid namespace, in every kernel

// True if the process ran under this machine's present kernel, so the kernel's log and clock match the trace.
bool same_kernel(const trace::Facts& facts);

// Returns the pid namespace of this process, or "" if it cannot be read.
std::string own_pids();

// True if the process still runs: the pid is the same and its process began before the trace. A later process
// with a reused pid does not match. If the traced process is in another pid namespace, searches for it there.
bool running(const trace::Facts& facts);

} // namespace memtrace::report
