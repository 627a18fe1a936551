// Purpose: takes memory of the card for itself, by the driver as it found it.
// Stands for libnccl.so.2, libcublas.so.13 and an extension of a user's.
#include "tests/fakes/cuda.h"

#include <dlfcn.h>

extern "C" int FAKE_ASKER(std::size_t bytes);
extern "C" int FAKE_ASKER(std::size_t bytes) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto allocate = reinterpret_cast<decltype(&fake::cuMemAlloc_v2)>(dlsym(driver, "cuMemAlloc_v2"));
  fake::Address out = 0;
  const int result = allocate(&out, bytes);
  return result != 0 ? result : static_cast<int>(out == 0); // after the call: it is not a jump
}
