// Purpose: its caching allocator of pinned memory: powers of two, kept when they are given back.
// Stands for PyTorch's libtorch_cuda.so.
#include "tests/fakes/torch_cpu.h"

#include <bit>
#include <cstdlib>
#include <map>

#include "tests/fakes/cuda.h"

namespace {

std::map<void*, std::size_t> in_use;
std::multimap<std::size_t, void*> kept;
FakeHostStats stats;

void* allocate(std::size_t bytes) {
  const std::size_t rounded = std::bit_ceil(bytes);
  void* block = nullptr;
  if (const auto cached = kept.find(rounded); cached != kept.end()) {
    block = cached->second;
    kept.erase(cached);
  } else if (fake::cudaHostAlloc(&block, rounded, 0) != 0) {
    std::abort();
  } else {
    stats.allocated_bytes += rounded;
  }
  in_use[block] = rounded;
  stats.active_bytes += rounded;
  return block;
}

void release(void* block) {
  const auto at = in_use.find(block);
  stats.active_bytes -= at->second;
  kept.emplace(at->second, block);
  in_use.erase(at);
}

__attribute__((constructor)) void start() {
  fake_torch_register_host_allocator(allocate, release);
}

} // namespace

void fake_torch_host_stats(FakeHostStats* out) {
  *out = stats;
}
void fake_torch_empty_host_cache() {
  for (const auto& [bytes, block] : kept) {
    stats.allocated_bytes -= bytes;
    fake::cudaFreeHost(block);
  }
  kept.clear();
}
