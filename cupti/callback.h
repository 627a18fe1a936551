// Purpose: from CUPTI's callback to the recorder's door.
// Runs: inside CUPTI's callbacks.
#pragma once

#include <cupti.h>

#include "preload/api/intake.h"

namespace memtrace::cupti {

// Before the first callback.
void report_to(const memtrace_door* door);

// Calls no CUDA, allocates nothing, prints nothing.
void CUPTIAPI on_callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

} // namespace memtrace::cupti
