// Purpose: what the runtime says of devices, kernels, addresses and errors.
// Stands for libcudart.so.13, beside tests/fakes/cudart.cpp, for programs such as PyTorch's wheels.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "tests/cuda_node/runtime.h"

namespace fake::node {

namespace {
thread_local cudaError_t last = cudaSuccess;
} // namespace

cudaError_t noted(int result) {
  if (result != 0) last = static_cast<cudaError_t>(result);
  return static_cast<cudaError_t>(result);
}

} // namespace fake::node

using fake::opened;
using fake::ready;
using fake::node::noted;

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t result = fake::node::last;
  fake::node::last = cudaSuccess;
  return result;
}
cudaError_t cudaPeekAtLastError() {
  return fake::node::last;
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess                 ? "cudaSuccess"
         : error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
                                              : "cudaErrorUnknown";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess                 ? "no error"
         : error == cudaErrorMemoryAllocation ? "out of memory"
                                              : "an error of the stand-in for CUDA";
}

cudaError_t cudaDriverGetVersion(int* version) {
  return noted(opened().cuDriverGetVersion(version));
}
cudaError_t cudaGetDeviceCount(int* count) {
  return noted(opened().cuDeviceGetCount(count));
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return noted(opened().cuDeviceGetAttribute(value, static_cast<int>(attribute), device));
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
  const auto attribute = [device](cudaDeviceAttr which) {
    int value = 0;
    opened().cuDeviceGetAttribute(&value, static_cast<int>(which), device);
    return value;
  };
  std::memset(out, 0, sizeof *out);
  opened().cuDeviceGetName(out->name, sizeof out->name, device);
  opened().cuDeviceGetUuid_v2(reinterpret_cast<fake::Uuid*>(&out->uuid), device);
  opened().cuDeviceTotalMem_v2(&out->totalGlobalMem, device);
  out->major = attribute(cudaDevAttrComputeCapabilityMajor);
  out->minor = attribute(cudaDevAttrComputeCapabilityMinor);
  out->multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
  out->warpSize = attribute(cudaDevAttrWarpSize);
  out->maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
  out->maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  out->maxBlocksPerMultiProcessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  out->regsPerBlock = out->regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerBlock);
  out->sharedMemPerBlock = static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlock));
  out->sharedMemPerBlockOptin = static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  out->sharedMemPerMultiprocessor = static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  for (int i = 0; i < 3; ++i) {
    out->maxThreadsDim[i] = attribute(static_cast<cudaDeviceAttr>(cudaDevAttrMaxBlockDimX + i));
    out->maxGridSize[i] = attribute(static_cast<cudaDeviceAttr>(cudaDevAttrMaxGridDimX + i));
  }
  out->l2CacheSize = 40 << 20;
  out->unifiedAddressing = out->hostRegisterSupported = out->memoryPoolsSupported = 1;
  out->pciBusID = device + 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* out, int bytes, int device) {
  std::snprintf(out, static_cast<size_t>(bytes), "00000000:%02x:00.0", device + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return noted(opened().cuDeviceCanAccessPeer(can, device, peer));
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  return noted(ready().cuCtxSynchronize());
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return noted(ready().cuDeviceGetMemPool(reinterpret_cast<void**>(pool), device));
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return noted(ready().cuMemPoolGetAttribute(pool, static_cast<int>(attribute), value));
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return noted(ready().cuMemPoolSetAttribute(pool, static_cast<int>(attribute), value));
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t count) {
  return noted(ready().cuMemPoolSetAccess(pool, access, count));
}

// Host memory that CUDA does not know is not an error.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* pointer) {
  std::memset(out, 0, sizeof *out);
  const auto address = reinterpret_cast<fake::Address>(pointer);
  unsigned type = 0;
  if (ready().cuPointerGetAttribute(&type, 2, address) != 0) {
    out->type = cudaMemoryTypeUnregistered;
    out->device = -1;
    out->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  }
  ready().cuPointerGetAttribute(&out->device, 9, address);
  out->type = type == 2 ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  out->devicePointer = const_cast<void*>(pointer);
  if (out->type == cudaMemoryTypeHost) out->hostPointer = out->devicePointer;
  return cudaSuccess;
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* address) {
  return noted(ready().cuIpcGetMemHandle(reinterpret_cast<fake::IpcHandle*>(handle),
                                         reinterpret_cast<fake::Address>(address)));
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void*) {
  std::memset(out, 0, sizeof *out);
  out->ptxVersion = out->binaryVersion = 80;
  out->maxThreadsPerBlock = 1024;
  out->maxDynamicSharedSizeBytes = 166912;
  out->numRegs = 32;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t) {
  return *blocks = threads > 0 && threads <= 1024 ? 2048 / threads : 1, cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel, int threads,
                                                                   size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}
cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}

} // extern "C"
