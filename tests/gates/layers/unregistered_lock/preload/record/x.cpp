// Purpose: it has a lock that a forked child does not free.
// expect: a forked child does not free x_lock
// Runs: nowhere.
#include "preload/bounded/spin_lock.h"

namespace memtrace::record {
constinit SpinLock x_lock;
} // namespace memtrace::record
