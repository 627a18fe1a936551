// Purpose: what the parts of the runtime share.
// Stands for libcudart.so.13, beside tests/fakes/cudart.cpp.
#pragma once

#include <cuda_runtime_api.h>

#include "tests/fakes/driver_table.h"

namespace fake::node {

// Remembers an error as this thread's last one, and returns it.
cudaError_t noted(int result);

} // namespace fake::node
