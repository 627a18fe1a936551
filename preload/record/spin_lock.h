// Room: record. Runs inside the victim's malloc.
// Job: a lock that gives up: a recorder may lose an event, it may not hang the program.
#pragma once

#include <cstdint>

#include "record/os.h"

namespace memtrace::record {

// Zero-initialised is unlocked. Not recursive: Recording keeps a thread from coming here twice.
class SpinLock {
 public:
  bool try_lock() {
    if (__atomic_exchange_n(&held_, 1u, __ATOMIC_ACQUIRE) != 0) return false;
    if (__atomic_load_n(&given_up_, __ATOMIC_RELAXED) != 0) __atomic_store_n(&given_up_, 0u, __ATOMIC_RELAXED);
    return true;
  }

  // Waits for a second at most; false: not locked. A holder that gets no turn for 50 ms is nothing special
  // where seven processes share a core. One that a signal handler left by a jump never comes back: that is
  // waited for once, and then hardly.
  bool lock() {
    for (int spin = 0; spin < 64; ++spin) {
      if (try_lock()) return true;
      __builtin_ia32_pause();
    }
    const bool hopeless = __atomic_load_n(&given_up_, __ATOMIC_RELAXED) != 0;
    const std::uint64_t until = os::monotonic_ns() + (hopeless ? kHopelessNs : kPatienceNs);
    for (std::uint64_t tries = 0; !try_lock(); ++tries) {
      if (os::monotonic_ns() >= until) {
        __atomic_store_n(&given_up_, 1u, __ATOMIC_RELAXED);
        return false;
      }
      // Yielding alone keeps a holder of lower priority from its turn.
      if (tries < kYields) {
        os::yield();
      } else {
        os::sleep_ns(kNapNs);
      }
    }
    return true;
  }
  void unlock() { __atomic_store_n(&held_, 0u, __ATOMIC_RELEASE); }
  void reset() { held_ = given_up_ = 0; } // in a forked child, whose other threads are gone

 private:
  static constexpr std::uint64_t kPatienceNs = 1'000'000'000, kHopelessNs = 1'000'000, kNapNs = 50'000;
  static constexpr std::uint64_t kYields = 100;

  std::uint32_t held_ = 0;
  std::uint32_t given_up_ = 0; // the last who waited did so in vain
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
