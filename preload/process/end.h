// Purpose: the orderly end: all that was recorded is written, and the ring file is removed.
// Runs: on the thread that ends the process.
#pragma once

namespace memtrace::record {

// The end, with the code the program gave. Drains within a bound, removes the ring file. Later calls do
// nothing.
void end_life(int code);
// The program aborts, and its handlers may run. Everything stays as it is, in the ring file.
void note_abort();
void remember_exit_code(int code);
int remembered_exit_code();

} // namespace memtrace::record
