// Purpose: PyTorch's names with their real mangling, and the count of calls that reached them.
// Shared by the fake libc10.so and the programs that use it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace c10 {

// As PyTorch's: passed in one register.
struct Device {
  std::int8_t type;
  std::int8_t index;
};
void* alloc_cpu(std::size_t bytes);
void free_cpu(void* block);
void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                                 Device device);

void reportOutOfMemoryToProfiler(std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                                 Device device);
// Up to PyTorch 1.x the totals were signed.
void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::int64_t allocated,
                                 std::int64_t reserved, Device device);
void reportOutOfMemoryToProfiler(std::int64_t bytes, std::int64_t allocated, std::int64_t reserved,
                                 Device device);

} // namespace c10

struct C10Calls {
  int alloc_cpu, free_cpu, reports, out_of_memory;
  std::int64_t reported;
  std::size_t allocated, reserved;
};

extern "C" {
void* fake_c10_tensor(std::size_t bytes);
void fake_c10_drop(void* block);
void fake_c10_device_block(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                           int device);
void fake_c10_calls(C10Calls* out);
}
