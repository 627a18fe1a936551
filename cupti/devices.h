// Purpose: decides when to query GPUs, and reports their identity and memory use.
// Runs: on the program's threads, outside its allocators and outside callbacks.
#pragma once

#include "preload/api/cupti_bridge.h"

namespace memtrace::cupti {

// Registers the query: from now on the recorder calls it at safe points.
void watch_devices(const memtrace_bridge* bridge);

// Called from callbacks after an event that changes a GPU's figures: the next safe point queries them.
void ask_soon();

} // namespace memtrace::cupti
