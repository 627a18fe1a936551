// Purpose: the settings that the MEMTRACE_* variables select.
// Runs: on any thread.
#include "preload/state/settings.h"

namespace memtrace::record {

constinit Settings settings{};

} // namespace memtrace::record
