// Purpose: lists all locks of the recorder, so that a forked child can free them.
// Runs: on the only thread of a forked child, before it records.
#pragma once

#include "preload/bounded/spin_lock.h"

namespace memtrace::record {

// If a thread holds a lock while another thread forks, the child does not have the holder, and nothing there
// would unlock the lock. Each thread of the child would wait a second, then lose its event. The struct's size
// is its alignment: gcc aligns an object of 24 bytes to 16 or 32, and the list would have gaps.
struct alignas(32) ForkLock {
  SpinLock* lock;
  const char* name;
  // Called in the child if the lock was held, because the state that it guards may be half changed. Null: the
  // readers of that state accept a half-made change.
  void (*was_held)();
};
static_assert(sizeof(ForkLock) == 32);

// Must follow the definition of each lock; scripts/gates/check_layers.py checks this.
#define REGISTER_LOCK(name, was_held)                                                                     \
  [[gnu::section("memtrace_locks"), gnu::used]] constinit ::memtrace::record::ForkLock name##_of_fork = { \
      &name, #name, was_held}

// The linker defines these as the bounds of the section.
extern "C" {
[[gnu::visibility("hidden")]] extern ForkLock __start_memtrace_locks[];
[[gnu::visibility("hidden")]] extern ForkLock __stop_memtrace_locks[];
}

// Calls `call(lock)` for each registered lock.
template <class Call>
void each_fork_lock(Call call) {
  for (ForkLock* entry = __start_memtrace_locks; entry != __stop_memtrace_locks; ++entry) call(*entry);
}

// Frees the locks that threads of the parent held.
inline void free_locks_of_parent() {
  each_fork_lock([](const ForkLock& entry) {
    if (entry.lock->is_held() && entry.was_held != nullptr) entry.was_held();
    entry.lock->reset();
  });
}

} // namespace memtrace::record
