// Purpose: describes a process that may have left files in /dev/shm.
#pragma once

#include "analyzer/evidence/shm_orphans.h"
#include "analyzer/trace/trace.h"

namespace memtrace::report {

// Returns the lifetime of the process in Unix time. `mapped` stays empty.
evidence::ShmCreator lifetime_of(const trace::Facts& facts);

// Returns the lifetime and, by a pass over the trace, the shared memory that the process mapped.
evidence::ShmCreator creator_of(const trace::Trace& trace);

// Returns the Unix time of a stamp in seconds.
double unix_of(const trace::Facts& facts, format::Stamp stamp);

} // namespace memtrace::report
