// Purpose: what the MEMTRACE_* variables ask for.
// Runs: on any thread.
#include "preload/state/settings.h"

namespace memtrace::record {

constinit Settings settings{};

} // namespace memtrace::record
