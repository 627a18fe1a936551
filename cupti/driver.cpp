// Purpose: queries the driver about its devices, if it is loaded. memtrace never initialises it.
// Runs: at safe points, and in the doctor.
#include "cupti/driver.h"

#include <cstring>

#include "cupti/loader_calls.h"

namespace memtrace::cupti {
namespace {

// Functions found by symbol name at run time: calls through cuda.h would link functions that an older driver
// lacks.
struct DriverFunctions {
  int (*count)(int*);
  int (*device)(int*, int);
  int (*state)(int, unsigned*, int*);
  int (*name)(char*, int, int);
  int (*uuid)(void*, int);
  int (*total)(std::size_t*, int);
  int (*context)(void**);
  int (*context_device)(int*);
  int (*info)(std::size_t*, std::size_t*);
};
constinit DriverFunctions cuda{};
constinit bool found = false;

template <class F>
void find(void* library, const char* symbol, F* out) {
  void* const address = dlsym(library, symbol);
  if (address != nullptr) std::memcpy(out, &address, sizeof address);
}

} // namespace

bool driver_is_loaded() {
  if (found) return true;
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    dlerror();
    return false;
  }
  find(library, "cuDeviceGetCount", &cuda.count);
  find(library, "cuDeviceGet", &cuda.device);
  find(library, "cuDevicePrimaryCtxGetState", &cuda.state);
  find(library, "cuDeviceGetName", &cuda.name);
  find(library, "cuDeviceGetUuid", &cuda.uuid);
  find(library, "cuDeviceGetUuid_v2", &cuda.uuid); // if the GPU is divided (MIG), that of the instance
  find(library, "cuDeviceTotalMem_v2", &cuda.total);
  find(library, "cuCtxGetCurrent", &cuda.context);
  find(library, "cuCtxGetDevice", &cuda.context_device);
  find(library, "cuMemGetInfo_v2", &cuda.info);
  dlerror();
  found = cuda.count != nullptr && cuda.device != nullptr && cuda.state != nullptr;
  return found;
}

int devices_in_use(bool (&in_use)[16]) {
  int count = 0, used = 0;
  if (!driver_is_loaded() || cuda.count(&count) != 0) return 0; // also fails if cuInit was not called
  for (int i = 0; i < count && i < 15; ++i) {
    int device = 0, active = 0;
    unsigned flags = 0;
    if (cuda.device(&device, i) != 0 || cuda.state(device, &flags, &active) != 0) continue;
    in_use[i] = active != 0;
    used += active != 0;
  }
  return used;
}

bool identity_of(int ordinal, Identity* out) {
  int device = 0;
  if (!driver_is_loaded() || cuda.device(&device, ordinal) != 0) return false;
  *out = {};
  std::size_t total = 0;
  if (cuda.name != nullptr) cuda.name(out->name, static_cast<int>(sizeof out->name) - 1, device);
  if (cuda.total != nullptr && cuda.total(&total, device) == 0) out->total = total;
  return cuda.uuid != nullptr && cuda.uuid(out->uuid, device) == 0;
}

bool use_here(int* device, std::uint64_t* used, std::uint64_t* total) {
  void* context = nullptr;
  std::size_t free_bytes = 0, all = 0;
  if (!driver_is_loaded() || cuda.context == nullptr || cuda.context_device == nullptr || cuda.info == nullptr)
    return false;
  if (cuda.context(&context) != 0 || context == nullptr || cuda.context_device(device) != 0) return false;
  if (cuda.info(&free_bytes, &all) != 0) return false;
  *used = all - free_bytes;
  *total = all;
  return true;
}

} // namespace memtrace::cupti
