// Purpose: the libraries through which a call for device memory passes. Their callers decide what it is for.
// Runs: nowhere: names for the recorder, which labels NCCL's memory, and for the analyzer, which infers roles.
#pragma once

namespace memtrace::format {

// The beginnings of file names. CUPTI is in the stack if its callbacks report the memory.
inline constexpr const char* kPassingLibraries[] = {"libmemtrace", "libcudart", "libcuda.", "libcupti"};

} // namespace memtrace::format
