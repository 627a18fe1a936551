// Purpose: its functions, found in each of the ways in which programs find them.
// In the programs that use the fake CUDA.
#pragma once

#include "tests/fakes/cuda_api.h"

// `way`: "module" (this program, or a library that it opens RTLD_LOCAL, is linked against CUDA), "dlsym",
// "dlvsym", "default" (dlsym(RTLD_DEFAULT)), and of the driver alone, the rest being the module's: "asked",
// "asked_old" (cuGetProcAddress_v2, cuGetProcAddress), "entry", "entry_by_version"
// (cudaGetDriverEntryPoint...), with "_ptsz" at the end for the per-thread default stream's. What cannot be
// found is null.
fake::Api find_cuda(const char* way);
