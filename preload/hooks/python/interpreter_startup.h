// Purpose: the way into a Python interpreter that was started under the preload object.
// Runs: on the program's thread, at load time.
#pragma once

namespace memtrace::hooks {

// For the library's constructor. Does nothing in a process without Python. `mode` is MEMTRACE_PHASES, and must
// stay valid: "auto", or anything else for no marks but the user's.
void python_start(const char* mode);

} // namespace memtrace::hooks
