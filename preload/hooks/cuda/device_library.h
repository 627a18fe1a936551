// Purpose: brings libmemtrace_cupti.so into a program that uses CUDA or NVTX.
// Runs: in the constructor.
#pragma once

namespace memtrace::hooks {

// Lets libmemtrace_cupti.so, if it is in memtrace's own folder, be opened after the program's first device
// call. With MEMTRACE_CUPTI=on it sets CUDA_INJECTION64_PATH instead, and the driver opens it. In any case it
// sets NVTX_INJECTION64_PATH. Variables that are set stay. The caller calls it only on a machine that has CUDA,
// so other environments stay unchanged.
void offer_device_library();

} // namespace memtrace::hooks
