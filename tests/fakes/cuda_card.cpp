// Purpose: the cards: what is allocated is taken from them, and gives an address that nobody may touch.
// Stands for libcuda.so.1 where there is no CUDA.
#include "tests/fakes/cuda_card.h"

#include <algorithm>

namespace fake::driver {

std::recursive_mutex mutex;
Block blocks[1 << 14];
Pool pools[16] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
size_t used[kMostDevices];
size_t graph_wanted, graph_reserved;
bool initialized;
int capturing;
Address next_handle = 0x100;

const Settings& settings() {
  static const auto number = [](const char* name, long otherwise) {
    const char* const text = std::getenv(name);
    return static_cast<size_t>(text != nullptr ? std::atol(text) : otherwise);
  };
  static const Settings wanted = {static_cast<int>(number("FAKE_CUDA_CARDS", 2)),
                                  number("FAKE_CUDA_CARD_MIB", 80 << 10) << 20,
                                  number("FAKE_CUDA_CONTEXT_MIB", 500) << 20};
  return wanted;
}

int give(Address* out, size_t bytes, int device, Address at, void* pool) {
  const Lock lock(mutex);
  if (out == nullptr || bytes == 0) return kInvalidValue;
  if (current() == 0) return kInvalidContext;
  if (device >= 0 && bytes > settings().card - used[device]) return kOutOfMemory;
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
  if (block->address > next_handle) return_pages(block->address, block->bytes);
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
  from->most_used = std::max(from->most_used, from->used);
  if (from->used <= from->reserved) return used[from->device] -= bytes, kSuccess;
  used[from->device] -= bytes - (from->used - from->reserved);
  from->reserved = from->used;
  from->most_reserved = std::max(from->most_reserved, from->reserved);
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
