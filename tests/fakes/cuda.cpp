// Room: tests. Stands for libcuda.so.1 where there is no CUDA.
// Job: two cards of 80 GiB: what is allocated is taken from them, and gives an address that nobody may touch.
#include "fakes/cuda.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fakes/observed.h"

namespace fake::driver {
namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kNotInitialized = 3, kInvalidContext = 201;
constexpr size_t kGranule = size_t{2} << 20;

struct Block {
  Address address;
  size_t bytes;
  int device;  // -1: host
  int handles; // of physical memory: releases and mappings to come
  void* pool;
};
struct Pool {
  int device;
  size_t used, reserved;
};

std::recursive_mutex mutex;
Block blocks[1 << 14];
Block mappings[1 << 12];
Pool pools[8] = {{0, 0, 0}, {1, 0, 0}}; // the first ones are the devices' own
int pool_count = kDevices;
size_t used[kDevices];
size_t graph_wanted, graph_reserved; // of device 0
bool has_context[kDevices];
bool initialized;
int capturing;
Address next_handle = 0x100;
thread_local int current = -1;

using Lock = std::lock_guard<std::recursive_mutex>;

// A raw call: what the real driver gives comes from its own device file, not from malloc or mmap.
Address pages(size_t bytes, bool host) {
  const int protection = host ? PROT_READ | PROT_WRITE : PROT_NONE;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long at = syscall(SYS_mmap, nullptr, bytes, protection, flags, -1, 0);
  return at == -1 ? 0 : static_cast<Address>(at);
}
Block* find(Block* table, size_t count, Address address) {
  for (size_t i = 0; i < count; ++i)
    if (table[i].address == address && address != 0) return &table[i];
  return nullptr;
}
Block* find(Address address) {
  return find(blocks, std::size(blocks), address);
}
Block* place(Block* table, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (table[i].address == 0) return &table[i];
  std::abort();
}

int context(int device) {
  if (!initialized) return kNotInitialized;
  if (device < 0 || device >= kDevices) return kInvalidValue;
  if (!has_context[device]) used[device] += kContext;
  has_context[device] = true;
  return kSuccess;
}

// `device` -1: host memory.
int give(Address* out, size_t bytes, int device, Address at = 0, void* pool = nullptr) {
  const Lock lock(mutex);
  if (out == nullptr || bytes == 0) return kInvalidValue;
  if (current < 0) return kInvalidContext;
  if (device >= 0 && bytes > kCard - used[device]) return kOutOfMemory;
  if (device < 0 && bytes > size_t{1} << 40) return kOutOfMemory;
  if (at == 0) at = pages(bytes, device < 0);
  if (at == 0) return kOutOfMemory;
  if (device >= 0) used[device] += bytes;
  *place(blocks, std::size(blocks)) = {at, bytes, device, 1, pool};
  *out = at;
  return kSuccess;
}
void end(Block* block) {
  if (block->device >= 0) used[block->device] -= block->bytes;
  if (block->address > next_handle) syscall(SYS_munmap, block->address, block->bytes);
  *block = {};
}
int take(Address address) {
  const Lock lock(mutex);
  if (address == 0) return kSuccess;
  Block* const block = find(address);
  if (block == nullptr) return kInvalidValue;
  end(block);
  return kSuccess;
}

int bytes_of(int format) {
  return format == 0x02 || format == 0x09 || format == 0x10   ? 2
         : format == 0x03 || format == 0x0a || format == 0x20 ? 4
                                                              : 1;
}
int array(void** out, size_t width, size_t height, size_t depth, int format, unsigned channels) {
  const size_t elements = width * (height == 0 ? 1 : height) * (depth == 0 ? 1 : depth);
  return give(reinterpret_cast<Address*>(out), elements * static_cast<size_t>(bytes_of(format)) * channels,
              current);
}

// From a pool, which keeps what it once had until it is trimmed.
int from_pool(Address* out, size_t bytes, void* pool) {
  const Lock lock(mutex);
  if (capturing != 0) {
    graph_wanted += bytes;
    *out = pages(bytes, false);
    return kSuccess;
  }
  auto* const from = static_cast<Pool*>(pool);
  const int result = give(out, bytes, from->device, 0, pool);
  if (result != kSuccess) return result;
  from->used += bytes;
  if (from->used <= from->reserved) return used[from->device] -= bytes, kSuccess;
  used[from->device] -= bytes - (from->used - from->reserved);
  from->reserved = from->used;
  return kSuccess;
}
int to_pool(Address address) {
  const Lock lock(mutex);
  Block* const block = find(address);
  if (block == nullptr) return kInvalidValue;
  if (auto* const pool = static_cast<Pool*>(block->pool); pool != nullptr) {
    pool->used -= block->bytes;
    used[pool->device] += block->bytes; // the pool has it
  }
  end(block);
  return kSuccess;
}

} // namespace

int cuInit(unsigned) {
  const Lock lock(mutex);
  if (initialized) return kSuccess;
  initialized = true;
  // As the real one does: a tool's library, by name.
  const char* const tool = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = tool != nullptr ? dlopen(tool, RTLD_NOW) : nullptr;
  void* const start = library != nullptr ? dlsym(library, "InitializeInjection") : nullptr;
  if (start != nullptr) reinterpret_cast<int (*)()>(start)();
  return kSuccess;
}
int cuDriverGetVersion(int* version) {
  return *version = 13000, kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
  return ordinal < 0 || ordinal >= kDevices ? 101 : (*device = ordinal, kSuccess);
}
int cuDeviceGetCount(int* count) {
  return *count = kDevices, kSuccess;
}
int cuDeviceGetName(char* name, int bytes, int) {
  return std::strncpy(name, "Fake A100-SXM4-80GB", static_cast<size_t>(bytes)), kSuccess;
}
int cuDeviceGetUuid_v2(Uuid* uuid, int device) {
  std::memset(uuid, 0x10 + device, sizeof *uuid);
  return kSuccess;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  return *bytes = kCard, kSuccess;
}
int cuDevicePrimaryCtxRetain(void** out, int device) {
  const Lock lock(mutex);
  *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device + 1));
  return context(device);
}
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  const Lock lock(mutex);
  if (!initialized) return kNotInitialized;
  *flags = 0;
  *active = has_context[device];
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return kSuccess;
}
int cuCtxCreate_v2(void** out, unsigned, int device) {
  const int result = cuDevicePrimaryCtxRetain(out, device);
  if (result == kSuccess) current = device;
  return result;
}
int cuCtxDestroy_v2(void*) {
  return current = -1, kSuccess;
}
int cuCtxSetCurrent(void* wanted) {
  return current = static_cast<int>(reinterpret_cast<std::uintptr_t>(wanted)) - 1, kSuccess;
}
int cuCtxGetCurrent(void** out) {
  return *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(current + 1)), kSuccess;
}
int cuCtxGetDevice(int* device) {
  return current < 0 ? kInvalidContext : (*device = current, kSuccess);
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  const Lock lock(mutex);
  if (current < 0) return kInvalidContext;
  *total = kCard;
  *free = kCard - used[current];
  return kSuccess;
}
int cuModuleLoadData(void** module, const void* image) {
  return *module = const_cast<void*>(image), kSuccess;
}
int cuModuleUnload(void*) {
  return kSuccess;
}
int cuStreamIsCapturing(void*, int* status) {
  return *status = capturing, kSuccess;
}

int cuMemAlloc_v2(Address* out, size_t bytes) {
  return give(out, bytes, current);
}
int cuMemAllocPitch_v2(Address* out, size_t* pitch, size_t width, size_t height, unsigned) {
  *pitch = (width + 511) & ~size_t{511};
  return give(out, *pitch * height, current);
}
int cuMemAllocManaged(Address* out, size_t bytes, unsigned) {
  return give(out, bytes, current);
}
int cuMemAllocAsync(Address* out, size_t bytes, void*) {
  return current < 0 ? kInvalidContext : from_pool(out, bytes, &pools[current]);
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
  return address == nullptr || bytes == 0 ? kInvalidValue : kSuccess;
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
  return address == nullptr ? kInvalidValue : kSuccess;
}
int cuMemGetAddressRange_v2(Address* base, size_t* bytes, Address address) {
  const Lock lock(mutex);
  const Block* const block = find(address);
  if (block == nullptr) return kInvalidValue;
  *base = block->address;
  *bytes = block->bytes;
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
  return give(reinterpret_cast<Address*>(out), bytes, current);
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
int cuMemImportFromShareableHandle(Address* handle, void*, int) {
  const Lock lock(mutex);
  *handle = next_handle++;
  *place(blocks, std::size(blocks)) = {*handle, 0, -1, 1, nullptr};
  return kSuccess;
}
int cuMemMap(Address address, size_t bytes, size_t, Address handle, unsigned long long) {
  const Lock lock(mutex);
  Block* const block = find(handle);
  if (block == nullptr) return kInvalidValue;
  ++block->handles;
  *place(mappings, std::size(mappings)) = {address, bytes, 0, static_cast<int>(handle), nullptr};
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
  return syscall(SYS_munmap, address, bytes) == 0 ? kSuccess : kInvalidValue;
}

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
  *place(blocks, std::size(blocks)) = {*out, kGranule, -1, 1, nullptr};
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

int cuGetProcAddress(const char* name, void** out, int version, std::uint64_t flags);
int cuGetProcAddress_v2(const char* name, void** out, int version, std::uint64_t flags, int* status);

} // namespace fake::driver

#define UNPACK(...) __VA_ARGS__
#define RUNTIME_FUNCTION(name, parameters, arguments)
#define DRIVER_FUNCTION(name, parameters, arguments)         \
  int name parameters {                                      \
    using namespace fake;                                    \
    return observed(#name, &driver::name, UNPACK arguments); \
  }
namespace fake {
#include "fakes/cuda_functions.def"
} // namespace fake

namespace fake::driver {
namespace {

struct Exported {
  const char* name;
  void* address;
};
constexpr int kNamesPerThread = 2;

const Exported exported[] = {
#define RUNTIME_FUNCTION(name, parameters, arguments)
#define DRIVER_FUNCTION(name, parameters, arguments) {#name, reinterpret_cast<void*>(&fake::name)},
#include "fakes/cuda_functions.def"
};

// From which version of CUDA on a plain name stands for its second form.
int second_since(const char* name) {
  return std::strcmp(name, "cuGetProcAddress") == 0     ? 12000
         : std::strcmp(name, "cuIpcOpenMemHandle") == 0 ? 11000
         : std::strcmp(name, "cuMemHostRegister") == 0  ? 6050
                                                        : 3020;
}
void* with_suffix(const char* name, const char* suffix) {
  char whole[128];
  std::strcpy(whole, name);
  std::strcat(whole, suffix);
  for (const Exported& function : exported)
    if (std::strcmp(function.name, whole) == 0) return function.address;
  return nullptr;
}

} // namespace

int cuGetProcAddress(const char* name, void** out, int version, std::uint64_t flags) {
  *out = (flags & kNamesPerThread) != 0 ? with_suffix(name, "_ptsz") : nullptr;
  if (*out == nullptr && version >= second_since(name)) *out = with_suffix(name, "_v2");
  if (*out == nullptr) *out = with_suffix(name, "");
  return *out == nullptr ? 500 : kSuccess;
}
int cuGetProcAddress_v2(const char* name, void** out, int version, std::uint64_t flags, int* status) {
  const int result = cuGetProcAddress(name, out, version, flags);
  if (status != nullptr) *status = result == kSuccess ? 0 : 1;
  return result;
}

} // namespace fake::driver

void fake::fake_cuda_observe(Observer wanted) {
  observer = wanted;
}
int fake::fake_cuda_calls(const char* name) {
  for (const Count& entry : counts)
    if (entry.name != nullptr && std::strcmp(entry.name, name) == 0) return entry.calls;
  return 0;
}
std::size_t fake::fake_cuda_used(int device) {
  return driver::used[device];
}
void fake::fake_cuda_capture(int on) {
  driver::capturing = on;
}

// What the real one hands to the runtime beside its symbols: a table that no tool sees.
extern "C" void* fake_cuda_table();
void* fake_cuda_table() {
  return reinterpret_cast<void*>(&fake::cuGetProcAddress_v2);
}
