// Purpose: the fake driver's functions as the real headers declare them, and what is asked of it beside those.
// Shared by the fake driver, the fake runtimes and the fake CUPTI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/hooks/cuda/types.h"
#include "tests/fakes/image.h"

namespace fake {

using namespace memtrace::hooks::cuda; // compared with the toolkit's own in tests/unit/preload/hooks
using std::size_t;
struct Uuid {
  unsigned char bytes[16];
};

// Called before (site 0) and after (site 1) each call of the driver, on the caller's thread, as CUPTI's
// callback is. `parameters` points to the arguments laid out one after the other, as the structs of
// generated_cuda_meta.h are; `result` is null at site 0.
using Observer = void (*)(int site, const char* name, const void* parameters, const int* result);

#define DRIVER_FUNCTION(name, parameters, arguments) extern "C" int name parameters;
#define RUNTIME_FUNCTION(name, parameters, arguments)
#include "tests/fakes/cuda_functions.def"

extern "C" {
void fake_cuda_observe(Observer observer);
// How often a function of the driver was reached.
int fake_cuda_calls(const char* name);
// What the card has given, and the streams that capture from now on.
size_t fake_cuda_used(int device);
void fake_cuda_capture(int on);
int fake_cuda_holders(int device); // of its primary context
int fake_cuda_is_after_init();     // false inside cuInit

// More arguments than the others have. The kernel does nothing.
int cuLaunchKernel(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                   void** more);
// Names that a library beside these sources has: null if it has not this one either.
[[gnu::weak]] void* fake_cuda_other(const char* name);
}

inline constexpr size_t kThreads = 2048 * 108; // at once: each has a stack of its own

} // namespace fake
