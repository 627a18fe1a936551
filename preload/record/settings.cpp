// Runs: on any thread.
// Purpose: what the MEMTRACE_* variables ask for.
#include "preload/record/settings.h"

namespace memtrace::record {

constinit Settings settings{};

} // namespace memtrace::record
