// Purpose: the functions that a folder calls although a folder above it defines them.
// Runs: see each function.
//
// Includes follow the data path. These calls go against it: a hook's event may begin the recording, start the
// background thread, or find that its process was forked. They are declared only here, so that no include goes
// back.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Starts the recorder at the first event of the process, if it waits for one. True if the process is traced.
// Returns false, and still waits, in a child that has the memory of its parent (vfork). Defined in
// process/begin.cpp.
bool begin_life();
// Changes the process from buffering to recording: makes the files, writes the definitions and the startup log,
// starts the background thread, and prints one line on stderr. If no file can be written, prints one line about
// it and disables the process. Inside a hook, guard held: raw system calls only. Defined in process/begin.cpp.
void begin_recording();
// For an armed process (state/arming.h): makes its file once it is large enough, and begins to record if it is
// called or reaches its level. Inside a hook, guard held. Defined in process/arming.cpp.
void look_at_arming();
// Ends the recording of a process that goes on: `memtrace arm --steps`. Writes the rest, and disables the
// process. Guard not held, outside malloc. Defined in process/end.cpp.
void stop_recording();
// Waits while another thread begins to record, but at most until 50 ms after it began. For a new thread: a kill
// loses its counts before there is a ring file. Guard held. Defined in process/begin.cpp.
void wait_for_beginning();
// Initialises the recorder in the child of a raw clone. Guard held. Defined in process/fork.cpp.
void begin_life_of_raw_child();
// Starts the background thread if it does not run. Only once recording has begun. Safe on any thread, also
// inside a hook. It takes no lock of libc, because it is a raw clone: pthread_create would allocate, and a
// thread of glibc would be counted at exit. Defined in drain/drain_thread.cpp.
void start_drain();
// Returns the private memory of the recorder in bytes, without the rings, STEM.coarse and the startup log. Pass
// lock held. Defined in process/own_memory.cpp.
std::uint64_t own_bytes();

} // namespace memtrace::record
