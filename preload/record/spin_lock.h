// Room: record. Runs inside the victim's malloc.
// Job: a lock that gives up: a recorder may lose an event, it may not hang the program.
#pragma once

#include <cstdint>

#include "record/os.h"

namespace memtrace::record {

// Zero-initialised is unlocked. Not recursive: Recording keeps a thread from coming here twice.
class SpinLock {
 public:
  bool try_lock() { return __atomic_exchange_n(&held_, 1u, __ATOMIC_ACQUIRE) == 0; }

  // Waits about `patience_ns` at most (default 50 ms); false: not locked.
  bool lock(std::uint64_t patience_ns = 50'000'000) {
    for (int spin = 0; spin < 64; ++spin) {
      if (try_lock()) return true;
      __builtin_ia32_pause();
    }
    const std::uint64_t until = os::monotonic_ns() + patience_ns;
    do {
      os::yield();
      if (try_lock()) return true;
    } while (os::monotonic_ns() < until);
    return false;
  }
  void unlock() { __atomic_store_n(&held_, 0u, __ATOMIC_RELEASE); }
  void reset() { held_ = 0; } // in a forked child, whose other threads are gone

 private:
  std::uint32_t held_ = 0;
};

// Locked while it lives, if it could be had in time.
class Locked {
 public:
  explicit Locked(SpinLock& lock) : lock_(lock), held_(lock.lock()) {}
  ~Locked() {
    if (held_) lock_.unlock();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  explicit operator bool() const { return held_; }

 private:
  SpinLock& lock_;
  bool held_;
};

} // namespace memtrace::record
