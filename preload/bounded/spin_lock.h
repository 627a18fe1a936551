// Purpose: a lock that gives up: a recorder may lose an event, it may not hang the program.
// Runs: inside the program's malloc.
#pragma once

#include <cstdint>

#include "preload/os/clocks.h"
#include "preload/os/threads.h"

namespace memtrace::record {

// Zero-initialised is unlocked. Not recursive: Recording keeps a thread from coming here twice. Spins briefly,
// then sleeps on a futex: 400 threads that spun and yielded kept the holder from its turn, and lost 340 events.
class SpinLock {
 public:
  bool try_lock() {
    std::uint32_t expected = kFree;
    return __atomic_compare_exchange_n(&held_, &expected, kHeld, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }

  bool is_held() const { return __atomic_load_n(&held_, __ATOMIC_RELAXED) != kFree; }

  // Returns false if the lock was not had: one holder kept it for a second, or others took it in turn for ten.
  // A holder that gets no turn for 50 ms is nothing special where seven processes share a core. One that a
  // signal handler left by a jump never comes back: that is waited for once, and then hardly.
  bool lock() {
    for (int spin = 0; spin < 64; ++spin) {
      if (try_lock()) return true;
      __builtin_ia32_pause();
    }
    const bool hopeless = __atomic_load_n(&given_up_, __ATOMIC_RELAXED) != 0;
    if (wait(hopeless ? kHopelessNs : kPatienceNs, kMostNs)) return true;
    give_up();
    return false;
  }
  // The same, but waits for `nanoseconds` at most. If it fails, others wait as long as before.
  bool lock_within(std::uint64_t nanoseconds) { return try_lock() || wait(nanoseconds, nanoseconds); }
  void unlock() {
    if (__atomic_exchange_n(&held_, kFree, __ATOMIC_RELEASE) == kWaitedFor) pass_on();
  }
  void reset() { held_ = given_up_ = 0; } // in a forked child, whose other threads are gone

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kWaitedFor = 2; // the last: by a thread that sleeps
  static constexpr std::uint64_t kPatienceNs = 1'000'000'000, kHopelessNs = 1'000'000, kNapNs = 10'000'000;
  static constexpr std::uint64_t kMostNs = 10'000'000'000;

  // Between two looks of a thread that waits, the first holder to unlock comes here. So does one that was given
  // up.
  [[gnu::cold, gnu::noinline]] void pass_on() {
    __atomic_fetch_add(&turns_, 1u, __ATOMIC_RELAXED);
    __atomic_store_n(&given_up_, 0u, __ATOMIC_RELAXED);
    os::futex_wake(&held_);
  }

  // Until one holder kept it for `patience` ns, or it is `most` ns later.
  bool wait(std::uint64_t patience, std::uint64_t most) {
    const std::uint64_t began = os::monotonic_ns();
    std::uint64_t since = began; // this holder has it
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
    __atomic_exchange_n(&given_up_, 1u, __ATOMIC_RELAXED); // locked: before the load
    // Its holder may have let go just before, and would not take that back.
    if (__atomic_load_n(&held_, __ATOMIC_RELAXED) == kFree) __atomic_store_n(&given_up_, 0u, __ATOMIC_RELAXED);
  }

  std::uint32_t held_ = kFree;
  std::uint32_t given_up_ = 0; // the last thread that waited did so in vain
  std::uint32_t turns_ = 0;
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
