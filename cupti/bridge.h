// Purpose: finds the recorder's bridge, once.
// Runs: outside callbacks.
#pragma once

#include "preload/api/cupti_bridge.h"

namespace memtrace::cupti {

// Returns the bridge. Null: libmemtrace.so is not in this process (a child that was started without the
// preload), or has another version. Only the process that found it may use it: CUDA does not work in a forked
// child either.
const memtrace_bridge* find_bridge();

// A trace has names for this many devices.
inline constexpr int kMaxDevices = 15;

} // namespace memtrace::cupti
