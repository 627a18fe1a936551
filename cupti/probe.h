// Purpose: what of driver, CUPTI and NVML can be used here, by trying it.
// Runs: in a child of `memtrace doctor`.
#pragma once

// What was tried, and what came of it. `works`: memtrace can use it.
extern "C" {
typedef void (*memtrace_probe_line)(void* to, const char* what, int works, const char* text);
}

namespace memtrace::cupti {

void probe(memtrace_probe_line line, void* to);

} // namespace memtrace::cupti
