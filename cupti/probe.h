// Purpose: tests which parts of driver, CUPTI and NVML work here.
// Runs: in a child of `memtrace doctor`.
#pragma once

// Called for each test: `what` was tested, and the result as text. `works`: memtrace can use it.
extern "C" {
typedef void (*memtrace_probe_line)(void* to, const char* what, int works, const char* text);
}

namespace memtrace::cupti {

void probe(memtrace_probe_line line, void* to);
// Subscribes for the probe, inside cuInit. Returns false if no probe runs in this process.
bool subscribe_as_probe();

} // namespace memtrace::cupti
