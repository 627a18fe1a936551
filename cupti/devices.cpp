// Purpose: decides when to query GPUs, and reports their identity and memory use.
// Runs: on the program's threads, outside its allocators and outside callbacks.
#include "cupti/devices.h"

#include <time.h>
#include <unistd.h>

#include <atomic>

#include "cupti/bridge.h"
#include "cupti/contexts.h"
#include "cupti/driver.h"
#include "cupti/nvml.h"

namespace memtrace::cupti {
namespace {

constexpr std::uint64_t kGapNs = 50'000'000; // least time between two queries
constexpr std::uint64_t kSoonNs = 5'000'000; // after an event that changes a figure
constexpr std::uint64_t kShare = 100;        // queries take at most 1/100 of the time

constinit const memtrace_bridge* bridge = nullptr;
constinit int owner = 0; // in a forked child, CUDA and its parent's NVML do not work
constinit std::atomic<bool> soon{true};
constinit std::atomic<bool> asking{false};
constinit std::atomic<std::uint64_t> next{0};
constinit bool named[kMaxDevices + 1] = {};
constinit Identity identities[kMaxDevices + 1] = {};

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void name(int device) {
  if (named[device]) return;
  named[device] = true; // queried once: an answer that is missing now stays missing
  Identity& identity = identities[device];
  const bool has_uuid = identity_of(device, &identity);
  const memtrace_device_identity out{device, identity.name[0] != '\0' ? identity.name : nullptr,
                                     has_uuid ? identity.uuid : nullptr, identity.total};
  bridge->device_identity(&out);
}

void ask(int device, const Nvml& nvml) {
  name(device);
  CardUse use;
  if (nvml) nvml.use_of(identities[device].uuid, &use);
  int here = -1;
  std::uint64_t used = 0, total = 0;
  if (use.card == kNotSaid && use_here(&here, &used, &total) && here == device) {
    use.card = used;
    use.total = total;
  }
  if (use.card == kNotSaid && use.process == kNotSaid) return;
  const memtrace_device_use out{device,    use.others,      use.process,    use.card,
                                use.total, use.others_used, code_on(device)};
  bridge->device_use(&out);
}

void ask_all() {
  bool in_use[16] = {};
  if (devices_in_use(in_use) == 0) return;
  const Nvml nvml;
  for (int i = 0; i < kMaxDevices; ++i)
    if (in_use[i]) ask(i, nvml);
}

// If another thread is querying, this one goes on.
void reach_safe_point() {
  const std::uint64_t before = now_ns();
  const std::uint64_t due = next.load(std::memory_order_relaxed);
  const bool sooner = soon.load(std::memory_order_relaxed);
  if (before < due - (sooner && due > kGapNs ? kGapNs - kSoonNs : 0)) return;
  if (getpid() != owner || asking.exchange(true, std::memory_order_acquire)) return;
  soon.store(false, std::memory_order_relaxed);
  ask_all();
  const std::uint64_t after = now_ns();
  const std::uint64_t gap = (after - before) * kShare;
  next.store(after + (gap > kGapNs ? gap : kGapNs), std::memory_order_relaxed);
  asking.store(false, std::memory_order_release);
}

} // namespace

void watch_devices(const memtrace_bridge* to) {
  bridge = to;
  owner = getpid();
  bridge->on_safe_point(&reach_safe_point);
}

void ask_soon() {
  soon.store(true, std::memory_order_relaxed);
}

} // namespace memtrace::cupti
