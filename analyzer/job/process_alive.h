// Purpose: whether a traced process is still there, on the machine that the report is made on.
#pragma once

#include <string>

#include "analyzer/trace/process_facts.h"

namespace memtrace::report {

inline constexpr char kFirstPids[] = "4026531836"; // the first pid namespace, in every kernel

// This machine's kernel is the one that the process ran under: its log and its clock are those of the trace.
bool same_kernel(const trace::Facts& facts);

// The pid namespace of this process; "" where it may not be read.
std::string own_pids();

// Same pid, and begun before the trace was, so that a pid that was given to another process does not pass for
// it. Of a process in another pid namespace it is looked for in that one.
bool running(const trace::Facts& facts);

} // namespace memtrace::report
