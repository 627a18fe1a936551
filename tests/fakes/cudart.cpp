// Purpose: the runtime as it is made: it opens libcuda.so.1, asks cuGetProcAddress for what it needs, and calls
// that.
// Stands for libcudart.so.13, .12 and .11.0 where there is no CUDA.
#include "tests/fakes/cuda.h"
#include "tests/fakes/driver_table.h"

#include <cstdlib>

#include <dlfcn.h>

namespace fake {
namespace {

constexpr int kVersion = FAKE_CUDART_VERSION;
using Ask = int (*)(const char*, void**, int, std::uint64_t, int*);

Driver driver;
Ask ask;
thread_local int device = 0;

bool get(void* out, const char* name, std::uint64_t flags) {
  return ask(name, static_cast<void**>(out), kVersion, flags, nullptr) == 0;
}
template <class F>
F function(const char* name, std::uint64_t flags = 0) {
  F found = nullptr;
  get(&found, name, flags);
  return found;
}

Address number(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}
Address* number(void** out) {
  return reinterpret_cast<Address*>(out);
}
Array3dDescriptor described(const ChannelFormat* format, Extent extent) {
  const unsigned channels = (format->x != 0) + (format->y != 0) + (format->z != 0) + (format->w != 0);
  return {extent.width, extent.height,
          extent.depth, format->x == 32 ? 0x20 : format->x == 16 ? 0x02 : 0x01,
          channels,     0};
}

} // namespace

// The runtime asks by the plain names.
const Driver& opened() {
  static const bool once = [] {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    ask = reinterpret_cast<Ask>(dlsym(library, "cuGetProcAddress_v2"));
    // Or so that no tool can stand between it and the driver.
    if (std::getenv("FAKE_CUDART_TABLE") != nullptr)
      ask = reinterpret_cast<Ask>(reinterpret_cast<void* (*)()>(dlsym(library, "fake_cuda_table"))());
    const auto by_name = [](const char* name, const char* plain, std::uint64_t flags) {
      void* found = nullptr;
      return get(&found, plain, flags) || get(&found, name, flags) ? found : nullptr;
    };
#define RUNTIME_FUNCTION(name, parameters, arguments)
#define DRIVER_FUNCTION(name, parameters, arguments)                                     \
  {                                                                                      \
    char plain[64] = #name;                                                              \
    std::uint64_t flags = 0;                                                             \
    for (char* at = plain; *at != 0; ++at) {                                             \
      if (at[0] == '_' && at[1] == 'p') flags = kPerThreadStream;                        \
      if (at[0] == '_') *at = at[1] = 0;                                                 \
    }                                                                                    \
    driver.name = reinterpret_cast<decltype(driver.name)>(by_name(#name, plain, flags)); \
  }
#include "tests/fakes/cuda_functions.def"
    return driver.cuInit(0) == 0;
  }();
  static_cast<void>(once);
  return driver;
}
const Driver& ready() {
  opened();
  void* context = nullptr;
  driver.cuCtxGetCurrent(&context);
  if (context == nullptr && driver.cuDevicePrimaryCtxRetain(&context, device) == 0)
    driver.cuCtxSetCurrent(context);
  return driver;
}
int cudaGetDevice(int* out) {
  return *out = device, 0;
}
int cudaRuntimeGetVersion(int* version) {
  return *version = kVersion, 0;
}
int cudaSetDevice(int wanted) {
  device = wanted;
  void* context = nullptr;
  const int result = ready().cuDevicePrimaryCtxRetain(&context, device);
  return result != 0 ? result : driver.cuCtxSetCurrent(context);
}
int cudaDeviceReset() {
  const int result = ready().cuDevicePrimaryCtxReset_v2(device);
  return result != 0 ? result : driver.cuCtxSetCurrent(nullptr);
}
int cudaMemGetInfo(size_t* free, size_t* total) {
  return ready().cuMemGetInfo_v2(free, total);
}
int cudaMalloc(void** out, size_t bytes) {
  return ready().cuMemAlloc_v2(number(out), bytes);
}
int cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
  return ready().cuMemAllocPitch_v2(number(out), pitch, width, height, 4);
}
int cudaMalloc3D(PitchedPointer* out, Extent extent) {
  out->width = extent.width;
  out->height = extent.height;
  return ready().cuMemAllocPitch_v2(number(&out->pointer), &out->pitch, extent.width,
                                    extent.height * extent.depth, 4);
}
int cudaMallocArray(void** array, const ChannelFormat* format, size_t width, size_t height, unsigned) {
  const Array3dDescriptor wanted = described(format, {width, height, 1});
  const ArrayDescriptor flat = {wanted.width, wanted.height, wanted.format, wanted.channels};
  return ready().cuArrayCreate_v2(array, &flat);
}
int cudaMalloc3DArray(void** array, const ChannelFormat* format, Extent extent, unsigned) {
  const Array3dDescriptor wanted = described(format, extent);
  return ready().cuArray3DCreate_v2(array, &wanted);
}
int cudaMallocMipmappedArray(void** array, const ChannelFormat* format, Extent extent, unsigned levels,
                             unsigned) {
  const Array3dDescriptor wanted = described(format, extent);
  return ready().cuMipmappedArrayCreate(array, &wanted, levels);
}
int cudaMallocManaged(void** out, size_t bytes, unsigned flags) {
  return ready().cuMemAllocManaged(number(out), bytes, flags);
}
int cudaMallocAsync(void** out, size_t bytes, void* stream) {
  return ready().cuMemAllocAsync(number(out), bytes, stream);
}
int cudaMallocAsync_ptsz(void** out, size_t bytes, void* stream) {
  return ready().cuMemAllocAsync_ptsz(number(out), bytes, stream);
}
int cudaMallocFromPoolAsync(void** out, size_t bytes, void* pool, void* stream) {
  return ready().cuMemAllocFromPoolAsync(number(out), bytes, pool, stream);
}
int cudaMallocFromPoolAsync_ptsz(void** out, size_t bytes, void* pool, void* stream) {
  return ready().cuMemAllocFromPoolAsync_ptsz(number(out), bytes, pool, stream);
}
int cudaMallocHost(void** out, size_t bytes) {
  return ready().cuMemAllocHost_v2(out, bytes);
}
int cudaHostAlloc(void** out, size_t bytes, unsigned flags) {
  return ready().cuMemHostAlloc(out, bytes, flags);
}
int cudaHostRegister(void* address, size_t bytes, unsigned flags) {
  return ready().cuMemHostRegister_v2(address, bytes, flags);
}
int cudaFree(void* address) {
  return ready().cuMemFree_v2(number(address));
}
int cudaFreeAsync(void* address, void* stream) {
  return ready().cuMemFreeAsync(number(address), stream);
}
int cudaFreeAsync_ptsz(void* address, void* stream) {
  return ready().cuMemFreeAsync_ptsz(number(address), stream);
}
int cudaFreeArray(void* array) {
  return ready().cuArrayDestroy(array);
}
int cudaFreeMipmappedArray(void* array) {
  return ready().cuMipmappedArrayDestroy(array);
}
int cudaFreeHost(void* address) {
  return ready().cuMemFreeHost(address);
}
int cudaHostUnregister(void* address) {
  return ready().cuMemHostUnregister(address);
}
int cudaMemPoolCreate(void** pool, const PoolProperties* properties) {
  return ready().cuMemPoolCreate(pool, properties);
}
int cudaMemPoolDestroy(void* pool) {
  return ready().cuMemPoolDestroy(pool);
}
int cudaMemPoolTrimTo(void* pool, size_t kept) {
  return ready().cuMemPoolTrimTo(pool, kept);
}
int cudaMemPoolImportPointer(void** out, void* pool, void* shared) {
  return ready().cuMemPoolImportPointer(number(out), pool, shared);
}
int cudaIpcOpenMemHandle(void** out, IpcHandle handle, unsigned flags) {
  return ready().cuIpcOpenMemHandle_v2(number(out), handle, flags);
}
int cudaIpcCloseMemHandle(void* address) {
  return ready().cuIpcCloseMemHandle(number(address));
}
int cudaImportExternalMemory(void** out, const ExternalMemory* wanted) {
  return ready().cuImportExternalMemory(out, wanted);
}
int cudaDestroyExternalMemory(void* memory) {
  return ready().cuDestroyExternalMemory(memory);
}
int cudaGraphAddMemAllocNode(void** node, void* graph, void* const* before, size_t count,
                             AllocationNode* wanted) {
  return ready().cuGraphAddMemAllocNode(node, graph, before, count, wanted);
}
int cudaGraphAddMemFreeNode(void** node, void* graph, void* const* before, size_t count, void* address) {
  return ready().cuGraphAddMemFreeNode(node, graph, before, count, number(address));
}
int cudaGraphLaunch(void* graph, void* stream) {
  return ready().cuGraphLaunch(graph, stream);
}
int cudaGraphLaunch_ptsz(void* graph, void* stream) {
  return ready().cuGraphLaunch_ptsz(graph, stream);
}
int cudaDeviceGraphMemTrim(int wanted) {
  return ready().cuDeviceGraphMemTrim(wanted);
}
int cudaGetDriverEntryPointByVersion(const char* name, void** out, unsigned version, unsigned long long flags,
                                     int* status) {
  ready();
  *out = nullptr;
  const int result = ask(name, out, static_cast<int>(version), flags, status);
  return result == 500 ? 0 : result; // as the real one: the status says that there is none
}
int cudaGetDriverEntryPointByVersion_ptsz(const char* name, void** out, unsigned version,
                                          unsigned long long flags, int* status) {
  return cudaGetDriverEntryPointByVersion(name, out, version, flags | kPerThreadStream, status);
}
int cudaGetDriverEntryPoint(const char* name, void** out, unsigned long long flags, int* status) {
  return cudaGetDriverEntryPointByVersion(name, out, kVersion, flags, status);
}
int cudaGetDriverEntryPoint_ptsz(const char* name, void** out, unsigned long long flags, int* status) {
  return cudaGetDriverEntryPoint(name, out, flags | kPerThreadStream, status);
}

} // namespace fake
