// Purpose: a bounded log in private memory, for the events of a process that is too small to leave a file.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/records.h"
#include "preload/state/thread.h"

namespace memtrace::record {

enum class AppendResult {
  yes,
  crowded, // stored, but too many blocks stay alive: the process should begin recording now
  closed,  // not stored: recording has begun, so the record belongs in the ring
  full,    // lost for lack of room: the process should begin recording now
  lost,    // lost for lack of memory or of the lock
};
// Appends `record` of `thread`. If the log is full, pairs of a birth and a death go into the threads' counters,
// and live blocks stay. A record without room, memory or the lock is counted as lost.
AppendResult append_to_startup_log(Thread& thread, const format::RingRecord& record);

// Writes the log to the trace file, thread by thread, and empties it. Recording has begun, so threads no longer
// append to it.
void flush_startup_log();
// Makes the ring file say how much a kill would leave out, from the first file on until flush_startup_log().
void note_beginning();
// Forgets the log in a forked child, because it is the parent's.
void forget_startup_log();

} // namespace memtrace::record
