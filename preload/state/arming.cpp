// Purpose: whether the process is armed: it counts and keeps levels, and records when it is called.
// Runs: inside each hook that records.
#include "preload/state/arming.h"

#include "preload/bounded/fork_locks.h"

namespace memtrace::record {

constinit SpinLock arming_lock;
REGISTER_LOCK(arming_lock, nullptr);

constinit ArmedWatch armed_watch{nullptr, INT64_MIN, 0, 0, 0};

constinit std::uint64_t steps_wanted = 0;
constinit bool stop_is_due = false;

} // namespace memtrace::record
