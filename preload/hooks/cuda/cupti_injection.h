// Purpose: libmemtrace_cupti.so is brought in by the driver and by NVTX, which look for it in the environment.
// Runs: in the constructor.
#pragma once

namespace memtrace::hooks {

// Sets CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH where they are unset and the library lies beside us.
// Only on a machine that has CUDA: elsewhere nothing is changed.
void offer_injection();

} // namespace memtrace::hooks
