// Purpose: opens libcupti at run time, and finds the functions that memtrace uses.
// Runs: outside callbacks.
#include "cupti/library.h"

#include <cstring>

#include "cupti/loader_calls.h"

namespace memtrace::cupti {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"};
constexpr const char* kToolkit[] = {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                    "/usr/local/cuda/lib64/libcupti.so",
                                    "/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so"};

void* open_first(const char** path) {
  for (const char* name : kNames) {
    *path = name;
    if (void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD); library != nullptr) return library;
  }
  for (const char* name : kNames) {
    *path = name;
    if (void* const library = dlopen(name, RTLD_LAZY | RTLD_LOCAL); library != nullptr) return library;
  }
  for (const char* name : kToolkit) {
    *path = name;
    if (void* const library = dlopen(name, RTLD_LAZY | RTLD_LOCAL); library != nullptr) return library;
  }
  *path = nullptr;
  dlerror(); // clears the error, so that the program does not find it
  return nullptr;
}

template <class F>
void find(void* library, const char* name, F* out) {
  void* const symbol = dlsym(library, name);
  if (symbol != nullptr) std::memcpy(out, &symbol, sizeof symbol);
}

} // namespace

Library open_library() {
  Library cupti;
  void* const library = open_first(&cupti.path);
  if (library == nullptr) return cupti;
  find(library, "cuptiGetVersion", &cupti.get_version);
  find(library, "cuptiSubscribe", &cupti.subscribe);
  find(library, "cuptiSubscribe_v2", &cupti.subscribe_v2);
  find(library, "cuptiUnsubscribe", &cupti.unsubscribe);
  find(library, "cuptiEnableCallback", &cupti.enable);
  find(library, "cuptiGetDeviceId", &cupti.device_of);
  dlerror();
  if (cupti.get_version != nullptr && cupti.get_version(&cupti.version) != CUPTI_SUCCESS) cupti.version = 0;
  return cupti;
}

std::size_t params_size(std::uint32_t version) {
  // 13.2 added allow_several: two subscribers can coexist if both set it. memtrace does not set it, because
  // today's profilers do not. And a new mode is a risk in another project's program.
  constexpr std::uint32_t kSeveral = 130200;
  return version >= kSeveral ? sizeof(SubscriberParams) : offsetof(SubscriberParams, allow_several);
}

const char* meaning_of(CUptiResult result) {
  switch (static_cast<int>(result)) {
    case 1:
      return "it refuses the call (CUPTI_ERROR_INVALID_PARAMETER)";
    case 15:
      return "it is not initialised (CUPTI_ERROR_NOT_INITIALIZED)";
    case 27:
      return "not supported on this device (CUPTI_ERROR_NOT_SUPPORTED)";
    case 33:
    case 40:
      return "a virtual GPU that does not allow it (CUPTI_ERROR_VIRTUALIZED_DEVICE)";
    case 35:
      return "no privilege: the driver keeps it for administrators (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)";
    case 36:
    case 38:
      return "an older profiling interface is in use (CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED)";
    case 39:
      return "held by another tool (CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)";
    case 41:
      return "confidential computing: neither profiling nor tracing "
             "(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED)";
    case 42:
      return "a mining device (CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED)";
    case 43:
      return "not on MIG devices (CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED)";
    case 44:
      return "not with SLI (CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED)";
    case 45:
      return "not under WSL (CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED)";
    case 999:
      return "it cannot say why, as where there is no driver (CUPTI_ERROR_UNKNOWN)";
    default:
      return "an error that memtrace does not know";
  }
}

} // namespace memtrace::cupti
