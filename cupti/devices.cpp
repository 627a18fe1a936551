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

constexpr std::uint64_t kGapNs = 50'000'000; // between two queries, if nothing changed that is known
// Queries take at most 1/100 of the time. Before that many ns they are not refused: a job allocates most of its
// memory in its first second, and each new peak is asked for. A query that is slower uses them up at once.
constexpr std::uint64_t kShare = 100;
constexpr std::uint64_t kAdvanceNs = 50'000'000;

constinit const memtrace_bridge* bridge = nullptr;
constinit int owner = 0;                   // in a forked child, CUDA and its parent's NVML do not work
constinit std::uint64_t began = 0;         // ns, as now_ns()
constinit std::atomic<bool> changed{true}; // a figure changed since the last query
constinit std::atomic<bool> asking{false};
constinit std::atomic<std::uint64_t> last{0};  // end of the last query
constinit std::atomic<std::uint64_t> spent{0}; // ns of all queries
constinit std::atomic<std::uint64_t> peaks{0}; // the recorder's count at the last query
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

bool is_due(std::uint64_t now) {
  const bool sooner = changed.load(std::memory_order_relaxed) ||
                      bridge->device_peaks() != peaks.load(std::memory_order_relaxed);
  if (!sooner && now - last.load(std::memory_order_relaxed) < kGapNs) return false;
  return spent.load(std::memory_order_relaxed) <= kAdvanceNs + (now - began) / kShare;
}

// If another thread is querying, this one goes on.
void reach_safe_point() {
  const std::uint64_t before = now_ns();
  if (!is_due(before) || getpid() != owner || asking.exchange(true, std::memory_order_acquire)) return;
  changed.store(false, std::memory_order_relaxed);
  peaks.store(bridge->device_peaks(), std::memory_order_relaxed);
  ask_all();
  const std::uint64_t after = now_ns();
  spent.fetch_add(after - before, std::memory_order_relaxed);
  last.store(after, std::memory_order_relaxed);
  asking.store(false, std::memory_order_release);
}

} // namespace

void watch_devices(const memtrace_bridge* to) {
  bridge = to;
  owner = getpid();
  began = now_ns();
  bridge->on_safe_point(&reach_safe_point);
}

void ask_soon() {
  changed.store(true, std::memory_order_relaxed);
}

} // namespace memtrace::cupti
