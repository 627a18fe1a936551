// Purpose: the recorder's bridge, found once.
// Runs: outside callbacks.
#pragma once

#include "preload/api/cupti_bridge.h"

namespace memtrace::cupti {

// Null: libmemtrace.so is not in this process (a child that was started without the preload), or is of another
// age. The process that found it is the only one that may use it: in a forked child CUDA is not usable either.
const memtrace_bridge* find_bridge();

// Beyond it a device has no name in a trace.
inline constexpr int kMaxDevices = 15;

} // namespace memtrace::cupti
