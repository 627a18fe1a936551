// Room: cupti. In a child of `memtrace doctor`.
// Job: what of driver, CUPTI and NVML can be used here, by trying it.
#pragma once

// What was tried, and what came of it. `works`: memtrace can use it.
extern "C" {
typedef void (*memtrace_probe_line)(void* to, const char* what, int works, const char* text);
}

namespace memtrace::cupti {

void probe(memtrace_probe_line line, void* to);

} // namespace memtrace::cupti
