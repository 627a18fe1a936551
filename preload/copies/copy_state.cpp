// Purpose: whether a copy to a shared file system is under way, and whether it hangs.
// Runs: set on the thread that copies, read on any thread.
#include "preload/copies/copy_state.h"

#include "preload/os/clocks.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kLongNs = 100'000'000;

constinit std::uint64_t since = 0; // 0: no call is under way
constinit std::uint64_t ended = 0;

} // namespace

OnShared::OnShared() {
  __atomic_store_n(&since, os::monotonic_ns(), __ATOMIC_RELAXED);
}
OnShared::~OnShared() {
  __atomic_store_n(&ended, os::monotonic_ns(), __ATOMIC_RELAXED);
  __atomic_store_n(&since, 0u, __ATOMIC_RELAXED);
}

bool copy_hangs() {
  const std::uint64_t began = __atomic_load_n(&since, __ATOMIC_RELAXED);
  return began != 0 && os::monotonic_ns() > began + kLongNs;
}
std::uint64_t last_progress() {
  return __atomic_load_n(&ended, __ATOMIC_RELAXED);
}
void forget_copy_state() {
  since = ended = 0;
}

} // namespace memtrace::record
