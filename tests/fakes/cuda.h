// Purpose: the fake libraries' functions as the real headers declare them, the driver's and the runtime's.
// Shared by the fake runtime and the programs that use the fake CUDA.
#pragma once

#include "tests/fakes/driver.h"

namespace fake {

#define DRIVER_FUNCTION(name, parameters, arguments)
#define RUNTIME_FUNCTION(name, parameters, arguments) extern "C" int name parameters;
#include "tests/fakes/cuda_functions.def"

} // namespace fake
