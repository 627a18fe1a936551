// Purpose: whether the local disk, from which traces are copied, is removed with the job.
// Runs: on memtrace's own thread.
#pragma once

namespace memtrace::record {

// True if the files in the directory are removed when the job, its pod or its container ends.
bool disk_goes_with_job(const char* directory);

} // namespace memtrace::record
