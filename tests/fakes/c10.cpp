// Purpose: a substitute for PyTorch's libc10.so: the CPU allocator and the report of device blocks. Like the
// real library, it calls them through its own PLT.
#include "tests/fakes/c10.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {
C10Calls calls;
} // namespace

namespace c10 {

void* alloc_cpu(std::size_t bytes) {
  ++calls.alloc_cpu;
  if (bytes == 0) return nullptr;
  void* block = nullptr;
  if (posix_memalign(&block, 64, bytes) == 0) return block;
  throw std::runtime_error(std::string(300, 'x')); // allocates its text, as PyTorch's error does
}
void free_cpu(void* block) {
  ++calls.free_cpu;
  std::free(block);
}
void reportMemoryUsageToProfiler(void*, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                                 Device) {
  ++calls.reports;
  calls.reported += bytes;
  calls.allocated = allocated;
  calls.reserved = reserved;
}
void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::int64_t allocated,
                                 std::int64_t reserved, Device) {
  static_cast<void>(address);
  ++calls.reports;
  calls.reported += bytes;
  calls.allocated = static_cast<std::size_t>(allocated);
  calls.reserved = static_cast<std::size_t>(reserved);
}
void reportOutOfMemoryToProfiler(std::int64_t, std::size_t, std::size_t, Device) {
  ++calls.out_of_memory;
}
void reportOutOfMemoryToProfiler(std::int64_t, std::int64_t, std::int64_t, Device) {
  ++calls.out_of_memory;
}

} // namespace c10

// A tensor on the CPU: as at::empty does, by way of the exported functions.
void* fake_c10_tensor(std::size_t bytes) {
  return c10::alloc_cpu(bytes);
}
void fake_c10_drop(void* block) {
  c10::free_cpu(block);
}

// A block of the caching allocator, inside a segment that cudaMalloc gave.
void fake_c10_device_block(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                           int device) {
  c10::reportMemoryUsageToProfiler(address, bytes, allocated, reserved,
                                   c10::Device{1, static_cast<std::int8_t>(device)});
}
void fake_c10_calls(C10Calls* out) {
  *out = calls;
}
