// Purpose: finds the failed allocation after which a process gave up.
#pragma once

#include "analyzer/job/process_end.h"
#include "analyzer/trace/kernel_samples.h"

namespace memtrace::report {

// False if the process ended normally or still runs.
bool ended_badly(const ProcessEnd& ending);

// Returns the allocation that failed last if the process gave up soon afterwards, else nullptr. Of several that
// failed together on the host, the first of the largest: the others failed because it did. `worker`: a worker
// of a loader reports a full /dev/shm to its parent, and goes on until the parent ends it. So such a failure is
// not fatal.
const trace::Failure* fatal(const trace::Samples& samples, format::Stamp last, const ProcessEnd& ending,
                            bool worker = false);

} // namespace memtrace::report
