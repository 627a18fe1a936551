// Purpose: 50 tensors of 1 MiB and 50 of 1000 bytes, 60 dropped; one that no memory is left for; two device
// blocks in one segment, one given back. Stands for libtorch_cpu.so and libc10_cuda.so: what calls libc10.so
// from another library.
#include <exception>

#include "tests/fakes/c10.h"

extern "C" void fake_torch_calls(C10Calls* out) {
  fake_c10_calls(out);
}

extern "C" void fake_torch_run() {
  constexpr std::size_t kMiB = 1u << 20;
  void* kept[100];
  for (int i = 0; i < 100; ++i) kept[i] = i % 2 == 0 ? c10::alloc_cpu(kMiB) : fake_c10_tensor(1000);
  try {
    c10::alloc_cpu(std::size_t{1} << 50);
  } catch (const std::exception&) { // as a program that retries with less
  }
  for (int i = 0; i < 60; ++i) i % 3 == 0 ? c10::free_cpu(kept[i]) : fake_c10_drop(kept[i]);
  auto* segment = reinterpret_cast<char*>(0x7f0000000000);
  c10::reportMemoryUsageToProfiler(segment, 6 * kMiB, 6 * kMiB, 20 * kMiB, {1, 0});
  fake_c10_device_block(segment + 6 * kMiB, 4 * kMiB, 10 * kMiB, 20 * kMiB, 0);
  c10::reportMemoryUsageToProfiler(segment, -static_cast<std::int64_t>(6 * kMiB), 4 * kMiB, 20 * kMiB, {1, 0});
}
