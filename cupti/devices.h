// Purpose: when to ask the cards what they show, and who they are.
// Runs: on the program's threads, outside its allocators and outside callbacks.
#pragma once

#include "preload/api/cupti_bridge.h"

namespace memtrace::cupti {

// From now on the recorder calls at quiet moments.
void watch_devices(const memtrace_bridge* bridge);

// Something happened that the card's figure shows: the next quiet moment asks. From callbacks.
void ask_soon();

} // namespace memtrace::cupti
