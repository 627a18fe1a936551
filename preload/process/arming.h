// Purpose: when an armed process begins to record: if `memtrace arm` calls it, or at a level or a growth.
// Runs: in the constructor.
#pragma once

namespace memtrace::record {

// Sets what begins when an armed process is called: hooks that an armed process does without.
void when_called(void (*start)());

} // namespace memtrace::record
