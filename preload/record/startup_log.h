// Purpose: events of a process too small to leave a file: a bounded log in private memory.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/records.h"
#include "preload/state/thread.h"

namespace memtrace::record {

enum class AppendResult {
  yes,
  crowded, // too many live blocks stay: the process should begin recording now
  closed,  // recording has begun meanwhile: to the ring
  full,    // not kept, for want of room: the process should begin recording now
  lost,    // not kept
};
// Keeps `record` of `thread`. When the log is full, pairs of birth and death fold into the threads' counters
// and live blocks stay. What is not kept for want of room, memory or the lock is counted as lost.
AppendResult append_to_startup_log(Thread& thread, const format::RingRecord& record);

// Writes the log to the trace file, thread by thread, and empties it. Recording has begun: nothing is appended
// now.
void flush_startup_log();
// From the first file on until cold_flush() the ring file says how much a kill would leave out.
void note_beginning();
// In a forked child: the log is the parent's.
void forget_startup_log();

} // namespace memtrace::record
