// Purpose: the job of this process. It has a file of its own, so that its three pages do not separate the words
// that the loader relocates at each start.
// Runs: never.
#include "preload/job/job_directory.h"

namespace memtrace::record {

constinit JobDirectory place{};

} // namespace memtrace::record
