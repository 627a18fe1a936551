// Purpose: hooks of libcudart.so.*. The driver calls inside a runtime call are not recorded.
// Runs: inside the calls of CUDA's runtime.
#include "preload/api/export.h"
#include "preload/hooks/cuda/call_shapes.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks::cuda {
namespace {

std::size_t texel(const ChannelFormat& format) {
  return static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
}

} // namespace
} // namespace memtrace::hooks::cuda

using namespace memtrace::hooks::cuda;

EXPORT int cudaMalloc(void** out, std::size_t n) {
  return gives_bytes(Function::cudaMalloc, Kind::device, n, out);
}
EXPORT int cudaMallocManaged(void** out, std::size_t n, unsigned flags) {
  return gives_bytes(Function::cudaMallocManaged, Kind::managed, n, out, flags);
}
EXPORT int cudaMallocHost(void** out, std::size_t n) {
  return gives_pinned(Function::cudaMallocHost, n, out);
}
EXPORT int cudaHostAlloc(void** out, std::size_t n, unsigned flags) {
  return gives_pinned(Function::cudaHostAlloc, n, out, flags);
}
EXPORT int cudaMallocAsync(void** out, std::size_t n, void* stream) {
  return gives_async(Function::cudaMallocAsync, __builtin_return_address(0), n, out, nullptr, stream, stream);
}
EXPORT int cudaMallocAsync_ptsz(void** out, std::size_t n, void* stream) {
  return gives_async(Function::cudaMallocAsync_ptsz, __builtin_return_address(0), n, out, nullptr, stream,
                     stream);
}
EXPORT int cudaMallocFromPoolAsync(void** out, std::size_t n, void* pool, void* stream) {
  return gives_async(Function::cudaMallocFromPoolAsync, __builtin_return_address(0), n, out, pool, stream, pool,
                     stream);
}
EXPORT int cudaMallocFromPoolAsync_ptsz(void** out, std::size_t n, void* pool, void* stream) {
  return gives_async(Function::cudaMallocFromPoolAsync_ptsz, __builtin_return_address(0), n, out, pool, stream,
                     pool, stream);
}
EXPORT int cudaHostRegister(void* address, std::size_t n, unsigned flags) {
  return registers(Function::cudaHostRegister, address, n, flags);
}

EXPORT int cudaMallocPitch(void** out, std::size_t* pitch, std::size_t width, std::size_t height) {
  auto* const call = real<decltype(cudaMallocPitch)>(Function::cudaMallocPitch);
  if (call == nullptr) return kNoDriver;
  return gives(
      Kind::device, width * height, [&] { return call(out, pitch, width, height); },
      [&] { return on_device(word(*out), *pitch * height, width * height); });
}
EXPORT int cudaMalloc3D(PitchedPointer* out, Extent extent) {
  auto* const call = real<decltype(cudaMalloc3D)>(Function::cudaMalloc3D);
  if (call == nullptr) return kNoDriver;
  const std::size_t rows = extent.height * extent.depth;
  return gives(
      Kind::device, extent.width * rows, [&] { return call(out, extent); },
      [&] { return on_device(word(out->pointer), out->pitch * rows, extent.width * rows); });
}

// The driver does not return how many bytes an array has, so the requested bytes count.
EXPORT int cudaMallocArray(void** out, const ChannelFormat* format, std::size_t width, std::size_t height,
                           unsigned flags) {
  auto* const call = real<decltype(cudaMallocArray)>(Function::cudaMallocArray);
  if (call == nullptr) return kNoDriver;
  const std::size_t n = format == nullptr ? 0 : texel(*format) * texels(width, height, 1, flags);
  return gives(
      Kind::device, n, [&] { return call(out, format, width, height, flags); },
      [&] { return on_device(word(*out), n, n); });
}
EXPORT int cudaMalloc3DArray(void** out, const ChannelFormat* format, Extent extent, unsigned flags) {
  auto* const call = real<decltype(cudaMalloc3DArray)>(Function::cudaMalloc3DArray);
  if (call == nullptr) return kNoDriver;
  const std::size_t n =
      format == nullptr ? 0 : texel(*format) * texels(extent.width, extent.height, extent.depth, flags);
  return gives(
      Kind::device, n, [&] { return call(out, format, extent, flags); },
      [&] { return on_device(word(*out), n, n); });
}
EXPORT int cudaMallocMipmappedArray(void** out, const ChannelFormat* format, Extent extent, unsigned levels,
                                    unsigned flags) {
  auto* const call = real<decltype(cudaMallocMipmappedArray)>(Function::cudaMallocMipmappedArray);
  if (call == nullptr) return kNoDriver;
  const std::size_t n = format == nullptr ? 0
                                          : texel(*format) * texels_of_levels(extent.width, extent.height,
                                                                              extent.depth, levels, flags);
  return gives(
      Kind::device, n, [&] { return call(out, format, extent, levels, flags); },
      [&] { return on_device(word(*out), n, n); });
}

EXPORT int cudaFree(void* address) {
  return takes_maybe_of_pool(Function::cudaFree, address);
}
EXPORT int cudaFreeAsync(void* address, void* stream) {
  return takes_maybe_of_pool(Function::cudaFreeAsync, address, stream);
}
EXPORT int cudaFreeAsync_ptsz(void* address, void* stream) {
  return takes_maybe_of_pool(Function::cudaFreeAsync_ptsz, address, stream);
}
EXPORT int cudaFreeArray(void* array) {
  return takes_address(Function::cudaFreeArray, Kind::device, array);
}
EXPORT int cudaFreeMipmappedArray(void* array) {
  return takes_address(Function::cudaFreeMipmappedArray, Kind::device, array);
}
EXPORT int cudaFreeHost(void* address) {
  return takes_address(Function::cudaFreeHost, Kind::pinned, address);
}
EXPORT int cudaHostUnregister(void* address) {
  return takes_address(Function::cudaHostUnregister, Kind::registered, address);
}

EXPORT int cudaMemPoolTrimTo(void* pool, std::size_t kept) {
  return trims_pool(Function::cudaMemPoolTrimTo, pool, kept);
}
EXPORT int cudaMemPoolDestroy(void* pool) {
  return destroys_pool(Function::cudaMemPoolDestroy, pool);
}
EXPORT int cudaMemPoolImportPointer(void** out, void* pool, void* shared) {
  return opens(Function::cudaMemPoolImportPointer, out, pool, shared);
}
EXPORT int cudaIpcOpenMemHandle(void** out, IpcHandle handle, unsigned flags) {
  return opens(Function::cudaIpcOpenMemHandle, out, handle, flags);
}
EXPORT int cudaIpcCloseMemHandle(void* address) {
  return takes_address(Function::cudaIpcCloseMemHandle, Kind::device, address);
}
EXPORT int cudaImportExternalMemory(void** out, const ExternalMemory* wanted) {
  return imports(Function::cudaImportExternalMemory, out, wanted);
}
EXPORT int cudaDestroyExternalMemory(void* memory) {
  return takes_address(Function::cudaDestroyExternalMemory, Kind::device, memory);
}

EXPORT int cudaGraphAddMemAllocNode(void** node, void* graph, void* const* before, std::size_t count,
                                    AllocationNode* wanted) {
  return adds_node(Function::cudaGraphAddMemAllocNode, node, graph, before, count, wanted);
}
EXPORT int cudaGraphAddMemFreeNode(void** node, void* graph, void* const* before, std::size_t count,
                                   void* address) {
  return frees_node(Function::cudaGraphAddMemFreeNode, node, graph, before, count, address);
}
EXPORT int cudaGraphLaunch(void* graph, void* stream) {
  return moves_graph_memory(Function::cudaGraphLaunch, graph, stream);
}
EXPORT int cudaGraphLaunch_ptsz(void* graph, void* stream) {
  return moves_graph_memory(Function::cudaGraphLaunch_ptsz, graph, stream);
}
EXPORT int cudaDeviceGraphMemTrim(int device) {
  return moves_graph_memory(Function::cudaDeviceGraphMemTrim, device);
}
