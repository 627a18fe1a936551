// Purpose: hooks of libcuda.so.1, also for callers that found a function by a pointer (hooks/cuda/dlsym.cpp).
// Runs: inside the calls of CUDA's driver.
#include "preload/api/export.h"
#include "preload/hooks/cuda/call_shapes.h"
#include "preload/state/recorder_state.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks::cuda {
namespace {

// Returns the bytes of one channel of a CUarray_format. Compressed and planar formats, whose size depends on
// more, count as 1.
std::size_t channel(int format) {
  switch (format) {
    case 0x02: // 16 bits: unsigned, signed, half
    case 0x09:
    case 0x10:
      return 2;
    case 0x03: // 32 bits
    case 0x0a:
    case 0x20:
      return 4;
    default:
      return 1;
  }
}

} // namespace
} // namespace memtrace::hooks::cuda

using namespace memtrace::hooks::cuda;
namespace record = memtrace::record;
namespace format = memtrace::format;

EXPORT int cuMemAlloc_v2(Address* out, std::size_t n) {
  return gives_bytes(Function::cuMemAlloc_v2, Kind::device, n, out);
}
EXPORT int cuMemAllocPitch_v2(Address* out, std::size_t* pitch, std::size_t width, std::size_t height,
                              unsigned element) {
  auto* const call = real<decltype(cuMemAllocPitch_v2)>(Function::cuMemAllocPitch_v2);
  if (call == nullptr) return kNotFound;
  return gives(
      Kind::device, width * height, [&] { return call(out, pitch, width, height, element); },
      [&] { return on_device(*out, *pitch * height, width * height); });
}
EXPORT int cuMemAllocManaged(Address* out, std::size_t n, unsigned flags) {
  return gives_bytes(Function::cuMemAllocManaged, Kind::managed, n, out, flags);
}
EXPORT int cuMemAllocAsync(Address* out, std::size_t n, void* stream) {
  return gives_async(Function::cuMemAllocAsync, __builtin_return_address(0), n, out, nullptr, stream, stream);
}
EXPORT int cuMemAllocAsync_ptsz(Address* out, std::size_t n, void* stream) {
  return gives_async(Function::cuMemAllocAsync_ptsz, __builtin_return_address(0), n, out, nullptr, stream,
                     stream);
}
EXPORT int cuMemAllocFromPoolAsync(Address* out, std::size_t n, void* pool, void* stream) {
  return gives_async(Function::cuMemAllocFromPoolAsync, __builtin_return_address(0), n, out, pool, stream, pool,
                     stream);
}
EXPORT int cuMemAllocFromPoolAsync_ptsz(Address* out, std::size_t n, void* pool, void* stream) {
  return gives_async(Function::cuMemAllocFromPoolAsync_ptsz, __builtin_return_address(0), n, out, pool, stream,
                     pool, stream);
}
EXPORT int cuMemAllocHost_v2(void** out, std::size_t n) {
  return gives_pinned(Function::cuMemAllocHost_v2, n, out);
}
EXPORT int cuMemHostAlloc(void** out, std::size_t n, unsigned flags) {
  return gives_pinned(Function::cuMemHostAlloc, n, out, flags);
}
EXPORT int cuMemHostRegister_v2(void* address, std::size_t n, unsigned flags) {
  return registers(Function::cuMemHostRegister_v2, address, n, flags);
}

EXPORT int cuMemFree_v2(Address address) {
  return takes_maybe_of_pool(Function::cuMemFree_v2, address);
}
EXPORT int cuMemFreeAsync(Address address, void* stream) {
  return takes_maybe_of_pool(Function::cuMemFreeAsync, address, stream);
}
EXPORT int cuMemFreeAsync_ptsz(Address address, void* stream) {
  return takes_maybe_of_pool(Function::cuMemFreeAsync_ptsz, address, stream);
}
EXPORT int cuMemFreeHost(void* address) {
  return takes_address(Function::cuMemFreeHost, Kind::pinned, address);
}
EXPORT int cuMemHostUnregister(void* address) {
  return takes_address(Function::cuMemHostUnregister, Kind::registered, address);
}

EXPORT int cuArrayCreate_v2(void** out, const ArrayDescriptor* wanted) {
  auto* const call = real<decltype(cuArrayCreate_v2)>(Function::cuArrayCreate_v2);
  if (call == nullptr) return kNotFound;
  const std::size_t n = wanted == nullptr ? 0
                                          : channel(wanted->format) * wanted->channels *
                                                texels(wanted->width, wanted->height, 1, 0);
  return gives(
      Kind::device, n, [&] { return call(out, wanted); }, [&] { return on_device(word(*out), n, n); });
}
EXPORT int cuArray3DCreate_v2(void** out, const Array3dDescriptor* wanted) {
  auto* const call = real<decltype(cuArray3DCreate_v2)>(Function::cuArray3DCreate_v2);
  if (call == nullptr) return kNotFound;
  const std::size_t n = wanted == nullptr
                            ? 0
                            : channel(wanted->format) * wanted->channels *
                                  texels(wanted->width, wanted->height, wanted->depth, wanted->flags);
  return gives(
      Kind::device, n, [&] { return call(out, wanted); }, [&] { return on_device(word(*out), n, n); });
}
EXPORT int cuMipmappedArrayCreate(void** out, const Array3dDescriptor* wanted, unsigned levels) {
  auto* const call = real<decltype(cuMipmappedArrayCreate)>(Function::cuMipmappedArrayCreate);
  if (call == nullptr) return kNotFound;
  const std::size_t n = wanted == nullptr ? 0
                                          : channel(wanted->format) * wanted->channels *
                                                texels_of_levels(wanted->width, wanted->height, wanted->depth,
                                                                 levels, wanted->flags);
  return gives(
      Kind::device, n, [&] { return call(out, wanted, levels); }, [&] { return on_device(word(*out), n, n); });
}
EXPORT int cuArrayDestroy(void* array) {
  return takes_address(Function::cuArrayDestroy, Kind::device, array);
}
EXPORT int cuMipmappedArrayDestroy(void* array) {
  return takes_address(Function::cuMipmappedArrayDestroy, Kind::device, array);
}

// Physical memory lives from cuMemCreate until its handle is released and its last mapping is gone.
EXPORT int cuMemCreate(Address* handle, std::size_t n, const AllocationProperties* wanted,
                       unsigned long long flags) {
  auto* const call = real<decltype(cuMemCreate)>(Function::cuMemCreate);
  if (call == nullptr) return kNotFound;
  const DeviceCall device_call;
  const int result = call(handle, n, wanted, flags);
  if (!record::active() || !device_call.mine(false)) return result;
  const bool on_device = wanted != nullptr && wanted->location.type == kOnDevice;
  const Kind kind = on_device ? Kind::device_vmm : Kind::pinned;
  if (result != 0) {
    refused(result, kind, n);
  } else {
    record::handle_born(
        {*handle, n, n, kind, 0, on_device ? static_cast<unsigned>(wanted->location.id) + 1 : 0});
  }
  return result;
}
EXPORT int cuMemRelease(Address handle) {
  auto* const call = real<decltype(cuMemRelease)>(Function::cuMemRelease);
  if (call == nullptr) return kNotFound;
  return takes([&] { return call(handle); }, [&](Stamp death) { record::handle_released(handle, death); });
}
EXPORT int cuMemRetainAllocationHandle(Address* handle, void* address) {
  auto* const call = real<decltype(cuMemRetainAllocationHandle)>(Function::cuMemRetainAllocationHandle);
  if (call == nullptr) return kNotFound;
  const DeviceCall device_call;
  const int result = call(handle, address);
  if (result == 0 && record::active() && device_call.mine(false)) record::handle_taken(*handle);
  return result;
}
EXPORT int cuMemImportFromShareableHandle(Address* handle, void* shared, int type) {
  auto* const call = real<decltype(cuMemImportFromShareableHandle)>(Function::cuMemImportFromShareableHandle);
  if (call == nullptr) return kNotFound;
  const DeviceCall device_call;
  const int result = call(handle, shared, type);
  if (result == 0 && record::active() && device_call.mine(false))
    record::handle_born(uncounted(*handle, 0, Kind::device_vmm));
  return result;
}
EXPORT int cuMemMap(Address address, std::size_t n, std::size_t offset, Address handle,
                    unsigned long long flags) {
  auto* const call = real<decltype(cuMemMap)>(Function::cuMemMap);
  if (call == nullptr) return kNotFound;
  const DeviceCall device_call;
  const int result = call(address, n, offset, handle, flags);
  if (result == 0 && record::active() && device_call.mine(false)) record::handle_mapped(address, n, handle);
  return result;
}
EXPORT int cuMemUnmap(Address address, std::size_t n) {
  auto* const call = real<decltype(cuMemUnmap)>(Function::cuMemUnmap);
  if (call == nullptr) return kNotFound;
  return takes([&] { return call(address, n); },
               [&](Stamp death) { record::handle_unmapped(address, n, death); });
}
// Reserves addresses without memory.
EXPORT int cuMemAddressReserve(Address* out, std::size_t n, std::size_t alignment, Address wanted,
                               unsigned long long flags) {
  auto* const call = real<decltype(cuMemAddressReserve)>(Function::cuMemAddressReserve);
  if (call == nullptr) return kNotFound;
  const DeviceCall device_call;
  const int result = call(out, n, alignment, wanted, flags);
  if (result == 0 && record::active() && device_call.mine(false))
    record::device_born(uncounted(*out, n, Kind::device_vmm));
  return result;
}
EXPORT int cuMemAddressFree(Address address, std::size_t n) {
  return takes_address(Function::cuMemAddressFree, Kind::device_vmm, address, n);
}

EXPORT int cuMemPoolTrimTo(void* pool, std::size_t kept) {
  return trims_pool(Function::cuMemPoolTrimTo, pool, kept);
}
EXPORT int cuMemPoolDestroy(void* pool) {
  return destroys_pool(Function::cuMemPoolDestroy, pool);
}
EXPORT int cuMemPoolImportPointer(Address* out, void* pool, void* shared) {
  return opens(Function::cuMemPoolImportPointer, out, pool, shared);
}
EXPORT int cuIpcOpenMemHandle_v2(Address* out, IpcHandle handle, unsigned flags) {
  return opens(Function::cuIpcOpenMemHandle_v2, out, handle, flags);
}
EXPORT int cuIpcCloseMemHandle(Address address) {
  return takes_address(Function::cuIpcCloseMemHandle, Kind::device, address);
}
EXPORT int cuImportExternalMemory(void** out, const ExternalMemory* wanted) {
  return imports(Function::cuImportExternalMemory, out, wanted);
}
EXPORT int cuDestroyExternalMemory(void* memory) {
  return takes_address(Function::cuDestroyExternalMemory, Kind::device, memory);
}

EXPORT int cuGraphAddMemAllocNode(void** node, void* graph, void* const* before, std::size_t count,
                                  AllocationNode* wanted) {
  return adds_node(Function::cuGraphAddMemAllocNode, node, graph, before, count, wanted);
}
EXPORT int cuGraphAddMemFreeNode(void** node, void* graph, void* const* before, std::size_t count,
                                 Address address) {
  return frees_node(Function::cuGraphAddMemFreeNode, node, graph, before, count, address);
}
EXPORT int cuGraphLaunch(void* graph, void* stream) {
  return moves_graph_memory(Function::cuGraphLaunch, graph, stream);
}
EXPORT int cuGraphLaunch_ptsz(void* graph, void* stream) {
  return moves_graph_memory(Function::cuGraphLaunch_ptsz, graph, stream);
}
EXPORT int cuDeviceGraphMemTrim(int device) {
  return moves_graph_memory(Function::cuDeviceGraphMemTrim, device);
}
