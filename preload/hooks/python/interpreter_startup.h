// Purpose: starts memtrace's part in a Python interpreter that was started with the preload object.
// Runs: on the program's thread, at load time.
#pragma once

namespace memtrace::hooks {

// Called by the library's constructor. Does nothing in a process without Python. `mode` is MEMTRACE_PHASES and
// must stay valid. "auto": automatic marks; any other value: only the marks that the user sets.
void python_start(const char* mode);
// In an armed process: only prepares for python_start_late(), so that the interpreter runs without an audit
// hook.
void python_prepare(const char* mode);
// Makes the interpreter run memtrace's part soon, between two instructions of its main thread. Safe inside
// malloc.
void python_start_late();

} // namespace memtrace::hooks
