// Purpose: its pools, the memory of graphs, and what comes from other processes and interfaces.
// Stands for libcuda.so.1 where there is no CUDA.
#include <cstring>

#include "tests/fakes/cuda_card.h"

namespace fake::driver {
namespace {

constexpr int kPoolReservedMost = 6, kPoolUsedMost = 8; // CU_MEMPOOL_ATTR_..._MEM_HIGH
int pool_count = kMostDevices;

// What another process shares takes addresses here, and nothing more of the card.
int imported(Address* out, size_t bytes) {
  const Lock lock(mutex);
  *out = pages(bytes, false);
  *place(blocks, std::size(blocks)) = {*out, bytes, -1, 1, nullptr, current()};
  return kSuccess;
}

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
  *static_cast<std::uint64_t*>(value) = attribute == kPoolUsedNow        ? asked->used
                                        : attribute == kPoolUsedMost     ? asked->most_used
                                        : attribute == kPoolReservedMost ? asked->most_reserved
                                                                         : asked->reserved;
  return kSuccess;
}
// High-water marks can be set to what is now; other attributes, such as the threshold of its release, have no
// effect.
int cuMemPoolSetAttribute(void* pool, int attribute, void*) {
  const Lock lock(mutex);
  auto* const changed = static_cast<Pool*>(pool);
  if (attribute == kPoolUsedMost) changed->most_used = changed->used;
  if (attribute == kPoolReservedMost) changed->most_reserved = changed->reserved;
  return kSuccess;
}
int cuMemPoolSetAccess(void*, const void*, size_t) {
  return kSuccess;
}
int cuDeviceGetMemPool(void** pool, int device) {
  return *pool = &pools[device], kSuccess;
}

int cuMemPoolImportPointer(Address* out, void*, void*) {
  return imported(out, kGranule);
}
int cuIpcGetMemHandle(IpcHandle* handle, Address address) {
  const Lock lock(mutex);
  const Block* const block = containing(address);
  if (block == nullptr) return kInvalidValue;
  *handle = {};
  std::memcpy(handle->bytes, &block->address, sizeof block->address);
  std::memcpy(handle->bytes + sizeof block->address, &block->bytes, sizeof block->bytes);
  return kSuccess;
}
int cuIpcOpenMemHandle_v2(Address* out, IpcHandle handle, unsigned) {
  size_t bytes = 0;
  std::memcpy(&bytes, handle.bytes + sizeof(Address), sizeof bytes);
  return imported(out, bytes != 0 ? bytes : kGranule);
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
