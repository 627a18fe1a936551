// Purpose: all of CUDA's functions as a table of pointers, however they were found.
// Shared by the programs that use the fake CUDA and the module that is linked against it.
#pragma once

#include "tests/fakes/cuda.h"

namespace fake {

struct Api {
#define DRIVER_FUNCTION(name, parameters, arguments) decltype(&::fake::name) name;
#define RUNTIME_FUNCTION(name, parameters, arguments) decltype(&::fake::name) name;
#include "tests/fakes/cuda_functions.def"
};

} // namespace fake

extern "C" void fake_cuda_api(fake::Api* out);
