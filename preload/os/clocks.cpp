// Purpose: the clocks. They continue when the recorder may make no system calls.
// Runs: on any thread, also on threads that glibc does not know.
#include "preload/os/clocks.h"

#include <time.h>

#include "preload/os/gate/raw_call.h"
#include "preload/os/libc/libc_table.h"

namespace memtrace::record::os {

namespace {

constexpr std::uint64_t kTickNs = 1'000; // added at each reading if the counter cannot be read
// The clocks jump by this when they are stopped: more than a pair of readings may be off.
constexpr std::uint64_t kJumpNs = 1'000;
// A reading that takes longer is a system call, or a counter that the machine emulates. Its unit may be longer
// than the way from one thread to another.
constexpr std::uint64_t kQuickNs = 80;
constexpr int kReadings = 32; // a unit of 100 ns, as Hyper-V's page has, shows in the first few

std::uint64_t in_ns(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t now(clockid_t clock) {
  timespec time{};
  libc.clock_gettime(clock, &time); // vDSO: 20 ns, no errno on success
  return in_ns(time);
}

// The clocks when the system calls were stopped, and the rate at which they continue. The vDSO cannot be used
// from then on: if user space cannot read the kernel's clock source, the vDSO makes a system call.
struct Stopped {
  std::uint64_t counter, monotonic, unix_time, boot;
  std::uint64_t scale; // ns for each 2^32 ticks of the counter; 0: the counter cannot be read
};
constinit Stopped stopped{};

// Both clocks at one time. The closest pair of several tries is used, because the thread may be preempted
// between two readings.
struct ClockPair {
  std::uint64_t counter, monotonic;
};
constinit ClockPair first{};

ClockPair this_moment() {
  ClockPair best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t before = __builtin_ia32_rdtsc();
    const std::uint64_t monotonic = now(CLOCK_MONOTONIC);
    const std::uint64_t took = __builtin_ia32_rdtsc() - before;
    if (took < least) best = {before + took / 2, monotonic};
    if (took < least) least = took;
  }
  return best;
}

// True if the clock advances between any two readings, and a reading is quick.
bool advances_at_each_reading() {
  std::uint64_t before = now(CLOCK_MONOTONIC), least = ~std::uint64_t{0};
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t time = now(CLOCK_MONOTONIC);
    if (time <= before) return false;
    if (time - before < least) least = time - before;
    before = time;
  }
  return least <= kQuickNs;
}

constinit std::uint64_t ticks = 0;

[[gnu::cold]] std::uint64_t since_stopped() {
  if (stopped.scale == 0) return __atomic_add_fetch(&ticks, kTickNs, __ATOMIC_RELAXED);
  const std::uint64_t passed = __builtin_ia32_rdtsc() - stopped.counter;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(passed) * stopped.scale >> 32);
}

[[gnu::always_inline]] inline std::uint64_t clock_ns(clockid_t clock, const std::uint64_t& when_stopped) {
  if (calls_are_stopped()) [[unlikely]]
    return when_stopped + since_stopped();
  return now(clock);
}

} // namespace

void stop_clocks(Counter counter) {
  clock_has_no_order(); // the counter is then read without a fence, and its rate is an estimate
  const ClockPair last = this_moment();
  stopped = {last.counter, last.monotonic + kJumpNs, now(CLOCK_REALTIME), now(CLOCK_BOOTTIME), 0};
  if (counter == Counter::refused || first.counter == 0 || last.counter <= first.counter) return;
  const auto ns = static_cast<double>(last.monotonic - first.monotonic);
  const auto counted = static_cast<double>(last.counter - first.counter);
  stopped.scale = static_cast<std::uint64_t>(ns / counted * 4294967296.0);
}

void begin_clock() {
  first = this_moment();
  __atomic_store_n(&clock_order, advances_at_each_reading(), __ATOMIC_RELAXED);
}

std::uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC, stopped.monotonic);
}
std::uint64_t unix_ns() {
  return clock_ns(CLOCK_REALTIME, stopped.unix_time);
}
std::uint64_t unix_ns_of_kernel() {
  timespec time{};
  return call(SYS_clock_gettime, CLOCK_REALTIME, word(&time)) == 0 ? in_ns(time) : unix_ns();
}
std::uint64_t boot_ns() {
  return clock_ns(CLOCK_BOOTTIME, stopped.boot);
}
// The vDSO has no fast path for this clock, so a reading is a system call. Returns 0 if calls are stopped.
std::uint64_t thread_cpu_ns() {
  const Passage passage;
  return passage ? now(CLOCK_THREAD_CPUTIME_ID) : 0;
}

} // namespace memtrace::record::os
