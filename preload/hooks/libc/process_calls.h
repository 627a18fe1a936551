// Purpose: the handlers at the edges of a process's life.
// Runs: in the constructor.
#pragma once

namespace memtrace::hooks {

// Registers atfork and exit handlers: first of all, so that ours run last before a fork and at the end.
void process_start();

} // namespace memtrace::hooks
