// Purpose: queries the driver about its devices, by calls that memtrace does not hook.
// Runs: inside CUDA's calls, after the real one.
#include "preload/hooks/cuda/device_facts.h"

#include "preload/blocks/recording.h"
#include "preload/bounded/fork_locks.h"
#include "preload/device/device_blocks.h"
#include "preload/hooks/cuda/function_table.h"
#include "preload/hooks/cuda/types.h"
#include "preload/os/timestamp.h"
#include "preload/state/recorder_state.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks::cuda {
namespace {

// A driver function, looked up at its first use, and again as long as it is not found.
template <class Signature>
struct Asked {
  const char* name;
  Signature* function = nullptr;

  template <class... A>
  bool operator()(A... arguments) {
    if (function == nullptr) function = reinterpret_cast<Signature*>(of_driver(name));
    return function != nullptr && function(arguments...) == 0;
  }
};

constinit Asked<int(int*)> context_device{"cuCtxGetDevice"};
constinit Asked<int(void**)> context_now{"cuCtxGetCurrent"};
constinit Asked<int(int, unsigned*, int*)> primary_state{"cuDevicePrimaryCtxGetState"};
constinit Asked<int(void**, int)> primary_retain{"cuDevicePrimaryCtxRetain"};
constinit Asked<int(int)> primary_release{"cuDevicePrimaryCtxRelease_v2"};
constinit Asked<int(std::size_t*, std::size_t*)> memory_info{"cuMemGetInfo_v2"};
constinit Asked<int(Address*, std::size_t*, Address)> address_range{"cuMemGetAddressRange_v2"};
constinit Asked<int(void*, int*)> stream_capturing{"cuStreamIsCapturing"};
constinit Asked<int(void**, int)> device_pool{"cuDeviceGetMemPool"};
constinit Asked<int(void*, int, void*)> pool_attribute{"cuMemPoolGetAttribute"};
constinit Asked<int(int, int, void*)> graph_attribute{"cuDeviceGetGraphMemAttribute"};

struct MemoryPool {
  void* handle;
  unsigned memory;
  std::uint64_t used, reserved;
};
constexpr int kPools = 64; // further pools are not queried
constexpr unsigned kDevices = 64;
constinit MemoryPool pools[kPools] = {};
constinit record::SpinLock pools_lock;
REGISTER_LOCK(pools_lock, nullptr);
constinit bool pools_known = false;
constinit bool graph_nodes = false;
constinit std::uint64_t graph_reserved[kDevices] = {};

void say_reserved(unsigned memory) {
  std::uint64_t used = 0, reserved = 0;
  for (const MemoryPool& pool : pools) {
    if (pool.handle == nullptr || pool.memory != memory) continue;
    used += pool.used;
    reserved += pool.reserved;
  }
  if (const record::Recording here; here)
    here.mark(format::ReservedEvent{used, reserved},
              static_cast<std::uint16_t>(memory << format::kMemoryShift));
}

MemoryPool* place_of(void* handle, unsigned memory) {
  for (MemoryPool& pool : pools)
    if (pool.handle == handle) return &pool;
  for (MemoryPool& pool : pools)
    if (pool.handle == nullptr) {
      pool = {handle, memory, 0, 0};
      pools_known = true;
      return &pool;
    }
  return nullptr;
}

} // namespace

unsigned current_memory() {
  int device = 0;
  return context_device(&device) && device >= 0 && device < 255 ? static_cast<unsigned>(device) + 1 : 1;
}

std::uint64_t current_context() {
  void* context = nullptr;
  return context_now(&context) ? reinterpret_cast<std::uint64_t>(context) : 0;
}

// Only a retain returns the handle. Retaining an active context creates nothing.
std::uint64_t active_primary(int device) {
  unsigned flags = 0;
  int active = 0;
  void* context = nullptr;
  if (device < 0) {
    const auto ask = reinterpret_cast<int (*)(int*)>(of_runtime("cudaGetDevice"));
    if (ask == nullptr || ask(&device) != 0) return 0;
  }
  if (!primary_state(device, &flags, &active) || active == 0 || !primary_retain(&context, device)) return 0;
  primary_release(device);
  return reinterpret_cast<std::uint64_t>(context);
}

bool primary_is_active(int device) {
  unsigned flags = 0;
  int active = 0;
  return !primary_state(device, &flags, &active) || active != 0;
}

bool memory_left(std::uint64_t* free, std::uint64_t* total) {
  std::size_t left = 0, all = 0;
  if (!memory_info(&left, &all)) return false;
  *free = left;
  *total = all;
  return true;
}

std::uint64_t bytes_at(std::uint64_t address) {
  Address base = 0;
  std::size_t bytes = 0;
  return address_range(&base, &bytes, address) ? bytes : 0;
}

bool is_capturing(void* stream) {
  int status = 0;
  return stream_capturing(stream, &status) && status != 0;
}

void look_at_pools(void* pool) {
  const unsigned memory = current_memory();
  if (pool == nullptr && !device_pool(&pool, static_cast<int>(memory) - 1)) return;
  {
    const record::Locked locked(pools_lock);
    if (!locked || place_of(pool, memory) == nullptr) return;
  }
  look_at_known_pools();
}

// All pools are queried, because the caller does not know which pool the freed block was from.
void look_at_known_pools() {
  if (!pools_known) return;
  const record::Locked locked(pools_lock);
  if (!locked) return;
  unsigned differs = 0; // the memory of a pool that changed
  for (MemoryPool& pool : pools) {
    std::uint64_t used = 0, reserved = 0;
    if (pool.handle == nullptr || !pool_attribute(pool.handle, kPoolUsedNow, &used) ||
        !pool_attribute(pool.handle, kPoolReservedNow, &reserved))
      continue;
    if (reserved != pool.reserved) differs = pool.memory;
    pool.used = used;
    pool.reserved = reserved;
  }
  if (differs != 0) say_reserved(differs);
}

void pool_is_gone(void* handle) {
  const record::Locked locked(pools_lock);
  if (!locked) return;
  for (MemoryPool& pool : pools) {
    if (pool.handle != handle) continue;
    const unsigned memory = pool.memory;
    pool.handle = nullptr;
    say_reserved(memory);
  }
}

void graph_has_nodes() {
  graph_nodes = true;
}

void look_at_graph_memory() {
  if (!graph_nodes) return;
  const unsigned memory = current_memory();
  const unsigned device = memory - 1;
  std::uint64_t reserved = 0;
  if (device >= kDevices || !graph_attribute(static_cast<int>(device), kGraphReservedNow, &reserved)) return;
  const std::uint64_t before = __atomic_exchange_n(&graph_reserved[device], reserved, __ATOMIC_RELAXED);
  if (before == reserved) return;
  const std::uint64_t address = memory; // an address that no allocation has
  if (before != 0) record::device_died(address, format::Kind::device_async, record::draw_stamp());
  if (reserved != 0) record::device_born({address, reserved, reserved, format::Kind::device_async, 0, memory});
}

} // namespace memtrace::hooks::cuda
