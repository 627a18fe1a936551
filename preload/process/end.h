// Purpose: the orderly end: all that was recorded is written, and the ring file is removed.
// Runs: on the thread that ends the process.
#pragma once

namespace memtrace::record {

// Ends recording, with the exit code of the program. Drains within a bound, then removes the ring file. Later
// calls do nothing.
void end_life(int code);
// Notes that the program aborts. Its handlers may still run, so everything stays in the ring file.
void note_abort();
void remember_exit_code(int code);
int remembered_exit_code();

} // namespace memtrace::record
