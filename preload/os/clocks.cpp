// Purpose: the clocks, which go on where no system call may be made.
// Runs: on any thread, also on one that glibc does not know.
#include "preload/os/clocks.h"

#include <time.h>

#include "preload/os/gate/syscall_gate.h"
#include "preload/os/libc/libc_table.h"

namespace memtrace::record::os {

namespace {

constexpr std::uint64_t kTickNs = 1'000; // between two readings of a clock that stands still

std::uint64_t now(clockid_t clock) {
  timespec time{};
  libc.clock_gettime(clock, &time); // vDSO: 20 ns, no errno on success
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

// The clocks at the moment when calls were stopped, and how fast they go on. The vDSO is no way to read them
// then: it makes a system call where the kernel's clock is none that a program can read.
struct Stopped {
  std::uint64_t counter, monotonic, unix_time, boot;
  std::uint64_t scale; // ns for each 2^32 of the counter; 0: it cannot be read
};
constinit Stopped stopped{};

// Both at one moment, as closely as some tries come: a thread may lose the processor between the two.
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
  const ClockPair last = this_moment();
  stopped = {last.counter, last.monotonic, now(CLOCK_REALTIME), now(CLOCK_BOOTTIME), 0};
  if (counter == Counter::refused || first.counter == 0 || last.counter <= first.counter) return;
  const auto ns = static_cast<double>(last.monotonic - first.monotonic);
  const auto counted = static_cast<double>(last.counter - first.counter);
  stopped.scale = static_cast<std::uint64_t>(ns / counted * 4294967296.0);
}

void begin_clock() {
  first = this_moment();
}

std::uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC, stopped.monotonic);
}
std::uint64_t unix_ns() {
  return clock_ns(CLOCK_REALTIME, stopped.unix_time);
}
std::uint64_t boot_ns() {
  return clock_ns(CLOCK_BOOTTIME, stopped.boot);
}
// The vDSO does not have this one.
std::uint64_t thread_cpu_ns() {
  const Passage passage;
  return passage ? now(CLOCK_THREAD_CPUTIME_ID) : 0;
}

} // namespace memtrace::record::os
