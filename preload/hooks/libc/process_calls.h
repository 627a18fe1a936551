// Purpose: the handlers of fork and exit.
// Runs: in the constructor.
#pragma once

namespace memtrace::hooks {

// Registers the atfork and exit handlers. They are registered before all others, so they run last before a fork
// and at exit.
void process_start();

} // namespace memtrace::hooks
