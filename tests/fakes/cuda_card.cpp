// Purpose: two cards of 80 GiB: what is allocated is taken from them, and gives an address that nobody may
// touch. Stands for libcuda.so.1 where there is no CUDA.
#include "tests/fakes/cuda_card.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fake::driver {

std::recursive_mutex mutex;
Block blocks[1 << 14];
Pool pools[8] = {{0, 0, 0}, {1, 0, 0}};
size_t used[kDevices];
size_t graph_wanted, graph_reserved;
bool initialized;
int capturing;
Address next_handle = 0x100;

// A raw call: what the real driver gives comes from its own device file, not from malloc or mmap.
Address pages(size_t bytes, bool host) {
  const int protection = host ? PROT_READ | PROT_WRITE : PROT_NONE;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long at = syscall(SYS_mmap, nullptr, bytes, protection, flags, -1, 0);
  return at == -1 ? 0 : static_cast<Address>(at);
}

int give(Address* out, size_t bytes, int device, Address at, void* pool) {
  const Lock lock(mutex);
  if (out == nullptr || bytes == 0) return kInvalidValue;
  if (current() == 0) return kInvalidContext;
  if (device >= 0 && bytes > kCard - used[device]) return kOutOfMemory;
  if (device < 0 && bytes > size_t{1} << 40) return kOutOfMemory;
  const Context context = at == 0 && pool == nullptr ? current() : 0;
  if (at == 0) at = pages(bytes, device < 0);
  if (at == 0) return kOutOfMemory;
  if (device >= 0) used[device] += bytes;
  *place(blocks, std::size(blocks)) = {at, bytes, device, 1, pool, context};
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
  // Or one that takes anything back: what is recorded then is the recorder's own doing.
  if (block == nullptr) return std::getenv("FAKE_CUDA_LENIENT") != nullptr ? kSuccess : kInvalidValue;
  end(block);
  return kSuccess;
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

} // namespace fake::driver
