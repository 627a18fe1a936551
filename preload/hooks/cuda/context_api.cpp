// Purpose: the end of a context frees all blocks that were allocated in it.
// Runs: inside the calls of CUDA's driver and runtime that end a context.
#include "preload/hooks/cuda/call_shapes.h"
#include "preload/os/timestamp.h"

#include "preload/os/gate/forbidden.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace memtrace::hooks::cuda {
namespace {

// `device` -1: the runtime's current device. A release ends a primary context only if it was the last one.
template <class... A>
int ends_primary(Function function, int device, A... arguments) {
  auto* const call = real<int(A...)>(function);
  if (call == nullptr) return absent(function);
  const bool asks = outermost() && !record::cupti_owns_devices();
  const std::uint64_t context = asks ? active_primary(device) : 0;
  const DeviceCall device_call;
  const Stamp death = context != 0 ? record::draw_stamp() : 0;
  const int result = call(arguments...);
  if (death != 0 && result == 0 && device_call.mine(false) && active_primary(device) == 0)
    record::context_died(context, death);
  return result;
}

} // namespace
} // namespace memtrace::hooks::cuda

using namespace memtrace::hooks::cuda;
namespace record = memtrace::record;

EXPORT int cuCtxDestroy_v2(void* context) {
  auto* const call = real<decltype(cuCtxDestroy_v2)>(Function::cuCtxDestroy_v2);
  if (call == nullptr) return kNotFound;
  return takes([&] { return call(context); }, [&](Stamp death) { record::context_died(word(context), death); });
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  return ends_primary(Function::cuDevicePrimaryCtxRelease_v2, device, device);
}
EXPORT int cuDevicePrimaryCtxReset_v2(int device) {
  return ends_primary(Function::cuDevicePrimaryCtxReset_v2, device, device);
}
EXPORT int cudaDeviceReset() {
  return ends_primary(Function::cudaDeviceReset, -1);
}
