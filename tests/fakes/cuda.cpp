// Purpose: what it exports, and how a name is looked up there; each call is counted and shown to the observer.
// Stands for libcuda.so.1 where there is no CUDA.
#include <cstring>

#include "tests/fakes/cuda_card.h"
#include "tests/fakes/observed.h"

#define UNPACK(...) __VA_OPT__(, ) __VA_ARGS__
#define RUNTIME_FUNCTION(name, parameters, arguments)
#define DRIVER_FUNCTION(name, parameters, arguments)        \
  int name parameters {                                     \
    using namespace fake;                                   \
    return observed(#name, &driver::name UNPACK arguments); \
  }
namespace fake {
#include "tests/fakes/cuda_functions.def"
} // namespace fake

namespace fake::driver {
namespace {

struct Exported {
  const char* name;
  void* address;
};
constexpr int kNamesPerThread = 2;

const Exported exported[] = {
#define RUNTIME_FUNCTION(name, parameters, arguments)
#define DRIVER_FUNCTION(name, parameters, arguments) {#name, reinterpret_cast<void*>(&fake::name)},
#include "tests/fakes/cuda_functions.def"
    {"cuLaunchKernel", reinterpret_cast<void*>(&fake::cuLaunchKernel)},
};

// From which version of CUDA on a plain name stands for its second form.
int second_since(const char* name) {
  return std::strcmp(name, "cuGetProcAddress") == 0     ? 12000
         : std::strcmp(name, "cuIpcOpenMemHandle") == 0 ? 11000
         : std::strcmp(name, "cuMemHostRegister") == 0  ? 6050
                                                        : 3020;
}
void* with_suffix(const char* name, const char* suffix) {
  char whole[128];
  std::strcpy(whole, name);
  std::strcat(whole, suffix);
  for (const Exported& function : exported)
    if (std::strcmp(function.name, whole) == 0) return function.address;
  return &fake_cuda_other != nullptr ? fake_cuda_other(whole) : nullptr;
}

} // namespace

int cuGetProcAddress(const char* name, void** out, int version, std::uint64_t flags) {
  *out = (flags & kNamesPerThread) != 0 ? with_suffix(name, "_ptsz") : nullptr;
  if (*out == nullptr && version >= second_since(name)) *out = with_suffix(name, "_v2");
  if (*out == nullptr) *out = with_suffix(name, "");
  return *out == nullptr ? 500 : kSuccess;
}
int cuGetProcAddress_v2(const char* name, void** out, int version, std::uint64_t flags, int* status) {
  const int result = cuGetProcAddress(name, out, version, flags);
  if (status != nullptr) *status = result == kSuccess ? 0 : 1;
  return result;
}

} // namespace fake::driver

int fake::cuLaunchKernel(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                         unsigned block_y, unsigned block_z, unsigned, void*, void**, void**) {
  if (grid_x == 0 || grid_y == 0 || grid_z == 0) return driver::kInvalidValue;
  if (block_x == 0 || block_y == 0 || block_z == 0 || block_x * block_y * block_z > 1024)
    return driver::kInvalidValue;
  if (observer == nullptr) return driver::kSuccess;
  const int result = driver::kSuccess;
  observer(0, "cuLaunchKernel", &kernel, nullptr);
  observer(1, "cuLaunchKernel", &kernel, &result);
  return result;
}
void fake::fake_cuda_observe(Observer wanted) {
  observer = wanted;
}
int fake::fake_cuda_calls(const char* name) {
  for (const Count& entry : counts)
    if (entry.name != nullptr && std::strcmp(entry.name, name) == 0) return entry.calls;
  return 0;
}
std::size_t fake::fake_cuda_used(int device) {
  return driver::used[device];
}
void fake::fake_cuda_capture(int on) {
  driver::capturing = on;
}

// What the real one hands to the runtime beside its symbols: a table that no tool sees.
extern "C" void* fake_cuda_table();
void* fake_cuda_table() {
  return reinterpret_cast<void*>(&fake::cuGetProcAddress_v2);
}
