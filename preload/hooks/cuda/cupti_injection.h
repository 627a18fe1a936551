// Purpose: sets the environment variables by which the driver and NVTX find libmemtrace_cupti.so.
// Runs: in the constructor.
#pragma once

namespace memtrace::hooks {

// Sets CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH if they are unset and the library is in memtrace's own
// folder. The caller calls it only on a machine that has CUDA, so other environments stay unchanged.
void offer_injection();

} // namespace memtrace::hooks
