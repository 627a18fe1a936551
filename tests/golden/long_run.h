// Purpose: a forked worker that ran long and was killed: its trace file, a window after a gap, rows, rings.
#pragma once

#include <map>
#include <string>

namespace memtrace::tests {

// Returns the bytes of each file by its suffix: ".memtrace", ".window-2", ".coarse", ".rings". Together with
// the trace of write_program() they have every type of event.
std::map<std::string, std::string> long_run();

} // namespace memtrace::tests
