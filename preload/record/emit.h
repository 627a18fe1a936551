// Purpose: sends each record to the startup log or to a ring, or drops it.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// Writes `record` for the calling thread. Its type, kind, flags, words and stamp are set. If it is a birth or a
// death, it carries the small flows since the thread's last record. Otherwise a record before it carries them.
// Returns false if the record is lost; the loss is counted by reason and by bytes. The caller holds the guard.
bool emit(format::RingRecord& record);
// Writes `record` into the ring without flows. The record is a definition, which must come before its use, or
// consists of flows.
void emit_bare(format::RingRecord& record);

} // namespace memtrace::record
