// Purpose: NVTX ranges become phases.
// Runs: once, at the program's first NVTX call in each library that has NVTX in it.
#pragma once

#include "cupti/nvtx_abi.h"
#include "preload/api/cupti_bridge.h"

namespace memtrace::cupti::nvtx {

// Puts our functions into the program's table. False: it has none that we know.
bool attach(const memtrace_bridge* bridge, GetExportTable get);

} // namespace memtrace::cupti::nvtx
