// Purpose: where every record goes: the cold log, a ring, or nowhere.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// Writes `record` (type, kind, flags, words and stamp set) for the calling thread, with the small flows since
// its last one: in the record when it is a birth or a death, before it otherwise. Guard held. False: it is
// lost, and counted by reason and by its bytes.
bool emit(format::RingRecord& record);
// The same without flows, into the ring: a definition, which must come before what uses it, or flows by
// themselves.
void emit_bare(format::RingRecord& record);

} // namespace memtrace::record
