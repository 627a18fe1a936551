// Purpose: the functions that a folder calls although a folder above it defines them.
// Runs: see each function.
//
// Includes run along the data path. These calls run against it: a hook's event may begin the recording, start
// the background thread, or find that its process was forked. They are declared here, and nowhere else, so that
// no include runs back.
#pragma once

#include <cstdint>

namespace memtrace::record {

// From cold to hot: files, definitions, the cold log, the background thread, the one line on stderr. Where no
// file can be written: one line that says so, and inert. Inside a hook, guard held: raw system calls only.
// Defined in process/begin.cpp.
void begin_recording();
// Waits while another thread begins to record, at most until 50 ms after it began. For a new thread: what it
// counts before there is a ring file is lost by a kill. Guard held. Defined in process/begin.cpp.
void wait_for_beginning();
// In the child of a raw clone: begins its own life. Guard held. Defined in process/fork.cpp.
void begin_life_of_raw_child();
// Starts the background thread if there is none. Only once recording has begun. Safe on any thread, also inside
// a hook: it takes no lock of libc's, for it is a raw clone (pthread_create would allocate, and a thread of
// glibc's would be counted at exit). Defined in drain/drain_thread.cpp.
void start_drain();
// Returns the private memory of the recorder in bytes: all but rings, STEM.coarse and the cold log. Pass lock
// held. Defined in process/own_memory.cpp.
std::uint64_t own_bytes();

} // namespace memtrace::record
