// Purpose: the live bytes of each device, so that a GPU is asked when more is live than ever before.
// Runs: inside the calls of CUDA's runtime and driver.
#include "preload/device/device_levels.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::record {
namespace {

struct DeviceLevel {
  std::int64_t live;
  std::int64_t highest;
};
constinit DeviceLevel levels[kMemories] = {};
constinit std::uint64_t peaks = 0;

} // namespace

void change_device_level(unsigned memory, std::int64_t bytes) {
  if (memory == 0 || memory >= kMemories) return;
  DeviceLevel& level = levels[memory];
  const std::int64_t live = __atomic_add_fetch(&level.live, bytes, __ATOMIC_RELAXED);
  std::int64_t highest = __atomic_load_n(&level.highest, __ATOMIC_RELAXED);
  while (live > highest) {
    if (!__atomic_compare_exchange_n(&level.highest, &highest, live, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      continue;
    __atomic_add_fetch(&peaks, 1, __ATOMIC_RELAXED);
    return;
  }
}

std::uint64_t device_peaks() {
  return __atomic_load_n(&peaks, __ATOMIC_RELAXED);
}

} // namespace memtrace::record
