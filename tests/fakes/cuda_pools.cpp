// Purpose: its pools, the memory of graphs, and what comes from other processes and interfaces.
// Stands for libcuda.so.1 where there is no CUDA.
#include "tests/fakes/cuda_card.h"

namespace fake::driver {
namespace {

int pool_count = kDevices;

} // namespace

int cuMemPoolCreate(void** out, const PoolProperties* properties) {
  const Lock lock(mutex);
  pools[pool_count] = {properties->location.id, 0, 0};
  *out = &pools[pool_count++];
  return kSuccess;
}
int cuMemPoolTrimTo(void* pool, size_t kept) {
  const Lock lock(mutex);
  auto* const trimmed = static_cast<Pool*>(pool);
  const size_t left = trimmed->used > kept       ? trimmed->used
                      : kept < trimmed->reserved ? kept
                                                 : trimmed->reserved;
  used[trimmed->device] -= trimmed->reserved - left;
  trimmed->reserved = left;
  return kSuccess;
}
int cuMemPoolDestroy(void* pool) {
  return cuMemPoolTrimTo(pool, 0);
}
int cuMemPoolGetAttribute(void* pool, int attribute, void* value) {
  const auto* const asked = static_cast<const Pool*>(pool);
  *static_cast<std::uint64_t*>(value) = attribute == kPoolUsedNow ? asked->used : asked->reserved;
  return kSuccess;
}
int cuMemPoolImportPointer(Address* out, void*, void*) {
  const Lock lock(mutex);
  *out = pages(kGranule, false);
  *place(blocks, std::size(blocks)) = {*out, kGranule, -1, 1, nullptr, current()};
  return kSuccess;
}
int cuDeviceGetMemPool(void** pool, int device) {
  return *pool = &pools[device], kSuccess;
}

int cuIpcOpenMemHandle_v2(Address* out, IpcHandle, unsigned) {
  return cuMemPoolImportPointer(out, nullptr, nullptr);
}
int cuIpcCloseMemHandle(Address address) {
  return take(address);
}
int cuImportExternalMemory(void** out, const ExternalMemory*) {
  return cuMemPoolImportPointer(reinterpret_cast<Address*>(out), nullptr, nullptr);
}
int cuDestroyExternalMemory(void* memory) {
  return take(reinterpret_cast<Address>(memory));
}

// A node reserves addresses; its memory is there from the launch on and stays until it is trimmed.
int cuGraphAddMemAllocNode(void** node, void*, void* const*, size_t, AllocationNode* wanted) {
  const Lock lock(mutex);
  graph_wanted += wanted->bytes;
  wanted->address = pages(wanted->bytes, false);
  *node = wanted;
  return kSuccess;
}
int cuGraphAddMemFreeNode(void** node, void*, void* const*, size_t, Address address) {
  return *node = reinterpret_cast<void*>(address), kSuccess;
}
int cuGraphLaunch(void*, void*) {
  const Lock lock(mutex);
  if (graph_wanted <= graph_reserved) return kSuccess;
  used[0] += graph_wanted - graph_reserved;
  graph_reserved = graph_wanted;
  return kSuccess;
}
int cuGraphLaunch_ptsz(void* graph, void* stream) {
  return cuGraphLaunch(graph, stream);
}
int cuDeviceGraphMemTrim(int) {
  const Lock lock(mutex);
  used[0] -= graph_reserved;
  graph_reserved = 0;
  return kSuccess;
}
int cuDeviceGetGraphMemAttribute(int device, int, void* value) {
  *static_cast<std::uint64_t*>(value) = device == 0 ? graph_reserved : 0;
  return kSuccess;
}

} // namespace fake::driver
