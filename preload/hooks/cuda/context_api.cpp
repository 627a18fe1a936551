// Purpose: the line that makes a primary context; and the end of a context, which frees all blocks in it.
// Runs: inside the calls of CUDA's driver and runtime that make or end a context.
#include "preload/api/export.h"
#include "preload/hooks/cuda/call_shapes.h"
#include "preload/os/timestamp.h"

#include "preload/os/gate/forbidden.h"

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

// The runtime calls this inside the first call of a thread that needs a device, and holds locks of its own. So
// this hook reaches no safe point. If two threads find the context inactive, the later record replaces the
// other.
EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  auto* const call = real<decltype(cuDevicePrimaryCtxRetain)>(Function::cuDevicePrimaryCtxRetain);
  if (call == nullptr) return absent(Function::cuDevicePrimaryCtxRetain);
  const bool makes = record::active() && !record::cupti_owns_devices() && !primary_is_active(device);
  const int result = call(context, device);
  if (makes && result == 0 && context != nullptr) record::context_born(word(*context), device);
  return result;
}
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
