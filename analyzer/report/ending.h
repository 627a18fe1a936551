// Room: report.
// Job: how a traced process ended, or that it has not.
#pragma once

#include <cstdint>
#include <string>

#include "trace/trace.h"

namespace memtrace::report {

struct Ending {
  std::string how = "unknown"; // of the contract: exit, signal, exec, running, unknown
  std::uint32_t code = 0;      // exit status, or the signal's number
};

// From the trace; where that has no end, from whether the process is still there: same host, same pid, and
// begun before the trace was, so that a pid that was given to another process does not pass for it.
Ending ending(const trace::Trace& trace);

} // namespace memtrace::report
