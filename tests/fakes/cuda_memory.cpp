// Purpose: its calls that give and take memory of a context, physical memory, and addresses.
// Stands for libcuda.so.1 where there is no CUDA.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fakes/cuda_card.h"

namespace fake::driver {
namespace {

Block mappings[1 << 12];
Block registered[1 << 12]; // of the program's own memory

int bytes_of(int format) {
  return format == 0x02 || format == 0x09 || format == 0x10   ? 2
         : format == 0x03 || format == 0x0a || format == 0x20 ? 4
                                                              : 1;
}
int array(void** out, size_t width, size_t height, size_t depth, int format, unsigned channels) {
  const size_t elements = width * (height == 0 ? 1 : height) * (depth == 0 ? 1 : depth);
  return give(reinterpret_cast<Address*>(out), elements * static_cast<size_t>(bytes_of(format)) * channels,
              current_device());
}

} // namespace

const Block* containing(Address address) {
  const auto within = [address](const Block* table, size_t count) -> const Block* {
    for (size_t i = 0; i < count; ++i)
      if (address >= table[i].address && address - table[i].address < table[i].bytes) return &table[i];
    return nullptr;
  };
  const Block* found = within(mappings, std::size(mappings));
  if (found == nullptr) found = within(registered, std::size(registered));
  return found != nullptr ? found : within(blocks, std::size(blocks));
}

int cuMemAlloc_v2(Address* out, size_t bytes) {
  return give(out, bytes, current_device());
}
int cuMemAllocPitch_v2(Address* out, size_t* pitch, size_t width, size_t height, unsigned) {
  *pitch = (width + 511) & ~size_t{511};
  return give(out, *pitch * height, current_device());
}
int cuMemAllocManaged(Address* out, size_t bytes, unsigned) {
  return give(out, bytes, current_device());
}
int cuMemAllocAsync(Address* out, size_t bytes, void*) {
  return current() == 0 ? kInvalidContext : from_pool(out, bytes, &pools[current_device()]);
}
int cuMemAllocAsync_ptsz(Address* out, size_t bytes, void* stream) {
  return cuMemAllocAsync(out, bytes, stream);
}
int cuMemAllocFromPoolAsync(Address* out, size_t bytes, void* pool, void*) {
  return from_pool(out, bytes, pool);
}
int cuMemAllocFromPoolAsync_ptsz(Address* out, size_t bytes, void* pool, void*) {
  return from_pool(out, bytes, pool);
}
int cuMemAllocHost_v2(void** out, size_t bytes) {
  return give(reinterpret_cast<Address*>(out), bytes, -1);
}
int cuMemHostAlloc(void** out, size_t bytes, unsigned) {
  return give(reinterpret_cast<Address*>(out), bytes, -1);
}
int cuMemHostRegister_v2(void* address, size_t bytes, unsigned) {
  if (address == nullptr || bytes == 0) return kInvalidValue;
  const Lock lock(mutex);
  *place(registered, std::size(registered)) = {reinterpret_cast<Address>(address), bytes, -1, 1, nullptr, 0};
  return kSuccess;
}
int cuMemFree_v2(Address address) {
  const Lock lock(mutex);
  const Block* const block = find(address);
  return block != nullptr && block->pool != nullptr ? to_pool(address) : take(address);
}
int cuMemFreeAsync(Address address, void*) {
  return to_pool(address);
}
int cuMemFreeAsync_ptsz(Address address, void*) {
  return to_pool(address);
}
int cuMemFreeHost(void* address) {
  return take(reinterpret_cast<Address>(address));
}
int cuMemHostUnregister(void* address) {
  if (address == nullptr) return kInvalidValue;
  const Lock lock(mutex);
  Block* const block = find(registered, std::size(registered), reinterpret_cast<Address>(address));
  if (block != nullptr) *block = {};
  return kSuccess;
}
int cuMemGetAddressRange_v2(Address* base, size_t* bytes, Address address) {
  const Lock lock(mutex);
  const Block* const block = containing(address);
  if (block == nullptr) return kInvalidValue;
  if (base != nullptr) *base = block->address;
  if (bytes != nullptr) *bytes = block->bytes;
  return kSuccess;
}
int cuArrayCreate_v2(void** out, const ArrayDescriptor* wanted) {
  return array(out, wanted->width, wanted->height, 1, wanted->format, wanted->channels);
}
int cuArray3DCreate_v2(void** out, const Array3dDescriptor* wanted) {
  return array(out, wanted->width, wanted->height, wanted->depth, wanted->format, wanted->channels);
}
int cuArrayDestroy(void* array) {
  return take(reinterpret_cast<Address>(array));
}
int cuMipmappedArrayCreate(void** out, const Array3dDescriptor* wanted, unsigned levels) {
  size_t bytes = 0;
  for (unsigned level = 0; level < levels; ++level) {
    const auto side = [level](size_t n) { return n >> level == 0 ? 1 : n >> level; };
    bytes += side(wanted->width) * side(wanted->height) * side(wanted->depth) *
             static_cast<size_t>(bytes_of(wanted->format)) * wanted->channels;
  }
  return give(reinterpret_cast<Address*>(out), bytes, current_device());
}
int cuMipmappedArrayDestroy(void* array) {
  return take(reinterpret_cast<Address>(array));
}

// Physical memory lives as long as a handle or a mapping of it.
int cuMemCreate(Address* handle, size_t bytes, const AllocationProperties* properties, unsigned long long) {
  const Lock lock(mutex);
  if (bytes % kGranule != 0) return kInvalidValue;
  return give(handle, bytes, properties->location.type == kOnDevice ? properties->location.id : -1,
              next_handle++);
}
int cuMemRelease(Address handle) {
  const Lock lock(mutex);
  Block* const block = find(handle);
  if (block == nullptr) return kInvalidValue;
  if (--block->handles == 0) end(block);
  return kSuccess;
}
int cuMemRetainAllocationHandle(Address* handle, void* address) {
  const Lock lock(mutex);
  Block* const mapping = find(mappings, std::size(mappings), reinterpret_cast<Address>(address));
  if (mapping == nullptr) return kInvalidValue;
  *handle = static_cast<Address>(mapping->handles);
  ++find(*handle)->handles;
  return kSuccess;
}
// A file that says how much it is. What another process exported takes nothing more of the card.
int cuMemExportToShareableHandle(void* shared, Address handle, int, unsigned long long) {
  const Lock lock(mutex);
  const Block* const block = find(handle);
  if (block == nullptr) return kInvalidValue;
  const auto file = static_cast<int>(syscall(SYS_memfd_create, "shared", MFD_CLOEXEC));
  *static_cast<int*>(shared) = file;
  return write(file, &block->bytes, sizeof block->bytes) == sizeof block->bytes ? kSuccess : kInvalidValue;
}
int cuMemImportFromShareableHandle(Address* handle, void* shared, int) {
  const Lock lock(mutex);
  size_t bytes = 0;
  const auto file = static_cast<int>(reinterpret_cast<Address>(shared));
  if (pread(file, &bytes, sizeof bytes, 0) != sizeof bytes) bytes = 0;
  *handle = next_handle++;
  *place(blocks, std::size(blocks)) = {*handle, bytes, -1, 1, nullptr, 0};
  return kSuccess;
}
int cuMemMap(Address address, size_t bytes, size_t, Address handle, unsigned long long) {
  const Lock lock(mutex);
  Block* const block = find(handle);
  if (block == nullptr) return kInvalidValue;
  ++block->handles;
  *place(mappings, std::size(mappings)) = {address, bytes, block->device, static_cast<int>(handle), nullptr, 0};
  return kSuccess;
}
int cuMemUnmap(Address address, size_t bytes) {
  const Lock lock(mutex);
  for (Block& mapping : mappings) {
    if (mapping.address < address || mapping.address >= address + bytes) continue;
    cuMemRelease(static_cast<Address>(mapping.handles));
    mapping = {};
  }
  return kSuccess;
}
int cuMemAddressReserve(Address* out, size_t bytes, size_t, Address, unsigned long long) {
  return (*out = pages(bytes, false)) != 0 ? kSuccess : kOutOfMemory;
}
int cuMemAddressFree(Address address, size_t bytes) {
  return on_card(address) ? (return_pages(address, bytes), kSuccess) : kInvalidValue;
}

} // namespace fake::driver
