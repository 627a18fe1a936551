// Purpose: a lock that gives up: the recorder may lose an event, but must not hang the program.
// Runs: inside the program's malloc.
#pragma once

#include <cstdint>

#include "preload/os/clocks.h"
#include "preload/os/threads.h"

namespace memtrace::record {

// A zero-initialised lock is unlocked. Not recursive: Recording keeps a thread from locking twice. Spins
// briefly, then sleeps on a futex. When 400 threads spun and yielded instead, the holder got no CPU, and 340
// events were lost.
class SpinLock {
 public:
  bool try_lock() {
    std::uint32_t expected = kFree;
    return __atomic_compare_exchange_n(&held_, &expected, kHeld, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }

  bool is_held() const { return __atomic_load_n(&held_, __ATOMIC_RELAXED) != kFree; }

  // Returns false if the lock was not acquired: one holder kept it for a second, or several holders in turn
  // kept it for ten. A holder without a CPU for 50 ms is normal if seven processes share a core. If a signal
  // handler jumps out of a holder, the holder never unlocks. The first thread waits for such a holder in full,
  // later threads for 1 ms.
  bool lock() { return try_lock() || lock_held(); }
  // Locks, but waits at most `nanoseconds`. If it fails, other threads still wait in full.
  bool lock_within(std::uint64_t nanoseconds) { return try_lock() || wait(nanoseconds, nanoseconds); }
  void unlock() {
    if (__atomic_exchange_n(&held_, kFree, __ATOMIC_RELEASE) == kWaitedFor) pass_on();
  }
  void reset() { held_ = given_up_ = 0; } // in a forked child, whose other threads are gone

 private:
  // kWaitedFor: held, and a thread sleeps on it
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kWaitedFor = 2;
  static constexpr std::uint64_t kPatienceNs = 1'000'000'000, kHopelessNs = 1'000'000, kNapNs = 10'000'000;
  static constexpr std::uint64_t kMostNs = 10'000'000'000;

  // Not inlined: a function that finds its locks free saves no registers for this.
  [[gnu::cold, gnu::noinline]] bool lock_held() {
    for (int spin = 0; spin < 64; ++spin) {
      __builtin_ia32_pause();
      if (try_lock()) return true;
    }
    const bool hopeless = __atomic_load_n(&given_up_, __ATOMIC_RELAXED) != 0;
    if (wait(hopeless ? kHopelessNs : kPatienceNs, kMostNs)) return true;
    give_up();
    return false;
  }

  // Called by the first holder that unlocks between two checks of a waiting thread. A holder that the waiting
  // threads gave up on also comes here.
  [[gnu::cold, gnu::noinline]] void pass_on() {
    __atomic_fetch_add(&turns_, 1u, __ATOMIC_RELAXED);
    __atomic_store_n(&given_up_, 0u, __ATOMIC_RELAXED);
    os::futex_wake(&held_);
  }

  // Returns true if the lock was acquired. Returns false if one holder kept it for `patience` ns, or after
  // `most` ns.
  bool wait(std::uint64_t patience, std::uint64_t most) {
    const std::uint64_t began = os::monotonic_ns();
    std::uint64_t since = began; // the present holder has the lock from then on
    std::uint32_t turn = __atomic_load_n(&turns_, __ATOMIC_RELAXED);
    while (__atomic_exchange_n(&held_, kWaitedFor, __ATOMIC_ACQUIRE) != kFree) {
      const std::uint64_t now = os::monotonic_ns();
      if (const std::uint32_t later = __atomic_load_n(&turns_, __ATOMIC_RELAXED); later != turn) {
        turn = later;
        since = now;
      }
      if (now - since >= patience || now - began >= most) return false;
      os::futex_wait(&held_, kWaitedFor, patience < kNapNs ? patience : kNapNs);
    }
    if (__atomic_load_n(&given_up_, __ATOMIC_RELAXED) != 0) __atomic_store_n(&given_up_, 0u, __ATOMIC_RELAXED);
    return true;
  }

  void give_up() {
    // The exchange is a locked instruction, so it takes effect before the load.
    __atomic_exchange_n(&given_up_, 1u, __ATOMIC_RELAXED);
    // The holder may have unlocked just before, and would then not clear given_up_.
    if (__atomic_load_n(&held_, __ATOMIC_RELAXED) == kFree) __atomic_store_n(&given_up_, 0u, __ATOMIC_RELAXED);
  }

  std::uint32_t held_ = kFree;
  std::uint32_t given_up_ = 0; // 1: the last thread that waited did not get the lock
  std::uint32_t turns_ = 0;
};

// Holds the lock during its lifetime, if the lock was acquired in time.
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
