// Purpose: the driver's functions as the runtime found them.
// Shared by the parts of the fake runtimes.
#pragma once

#include "tests/fakes/driver.h"

namespace fake {

struct Driver {
#define RUNTIME_FUNCTION(name, parameters, arguments)
#define DRIVER_FUNCTION(name, parameters, arguments) decltype(&::fake::name) name;
#include "tests/fakes/cuda_functions.def"
};
// For questions that need no context, such as how many GPUs there are.
const Driver& opened();
// With a context for this thread: the primary one of its device, if it has none.
const Driver& ready();

} // namespace fake
