// Purpose: the functions as this module's own relocations found them.
// Stands for a Python module that is linked against CUDA.
#include "tests/fakes/cuda_api.h"

void fake_cuda_api(fake::Api* out) {
  *out = {
#define DRIVER_FUNCTION(name, parameters, arguments) &fake::name,
#define RUNTIME_FUNCTION(name, parameters, arguments) &fake::name,
#include "tests/fakes/cuda_functions.def"
  };
}
