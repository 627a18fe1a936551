// Purpose: passes the events of CUPTI's callbacks to the recorder's bridge.
// Runs: inside CUPTI's callbacks.
#pragma once

#include <cupti.h>

#include "preload/api/cupti_bridge.h"

namespace memtrace::cupti {

// Sets the bridge, before the first callback.
void report_to(const memtrace_bridge* bridge);

// Calls no CUDA, allocates nothing, prints nothing.
void CUPTIAPI on_callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

} // namespace memtrace::cupti
