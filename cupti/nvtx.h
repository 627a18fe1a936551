// Purpose: records NVTX ranges as phases.
// Runs: once, at the program's first NVTX call in each library that contains NVTX.
#pragma once

#include "cupti/nvtx_abi.h"
#include "preload/api/cupti_bridge.h"

namespace memtrace::cupti::nvtx {

// Puts memtrace's functions into the program's table. False: the program has no table that memtrace knows.
bool attach(const memtrace_bridge* bridge, GetExportTable get);

} // namespace memtrace::cupti::nvtx
