// Purpose: a process as one that may have left files in /dev/shm.
#pragma once

#include "analyzer/evidence/shm_orphans.h"
#include "analyzer/trace/trace.h"

namespace memtrace::report {

// When it lived, in Unix time. `mapped` stays empty.
evidence::ShmCreator lifetime_of(const trace::Facts& facts);

// By a pass over the trace, also what shared memory it mapped.
evidence::ShmCreator creator_of(const trace::Trace& trace);

// Returns Unix time in seconds.
double unix_of(const trace::Facts& facts, format::Stamp stamp);

} // namespace memtrace::report
