// Room: record. Runs inside the victim's malloc.
// Job: events of a process too small to leave a file: a bounded log in private memory.
#pragma once

#include "format/event.h"
#include "record/thread.h"

namespace memtrace::record {

// Keeps `record` of `thread`. When the log is full, pairs of birth and death fold into the threads' counters
// and live blocks stay. False: too many of them stay, the process should begin recording now (the record is
// kept all the same while there is room; else it is counted as lost).
bool cold_append(Thread& thread, const format::RingRecord& record);

// Writes the log to the trace file, thread by thread, and empties it. Recording has begun: nothing is appended
// now.
void cold_flush();

// In a forked child: the log is the parent's.
void cold_forget();

} // namespace memtrace::record
