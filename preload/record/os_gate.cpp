// Room: record. In front of each system call of the recorder.
// Job: whether the recorder may make system calls, and the clocks, which must go on where it may not.
#include "preload/record/os_gate.h"

#include <time.h>

#include "preload/record/libc.h"
#include "preload/record/os.h"

namespace memtrace::record::os {
namespace {

constexpr std::uint64_t kPatienceNs = 1'000'000'000; // for other threads' calls, as for a lock
constexpr std::uint64_t kTickNs = 1'000;             // between two readings of a clock that stands still

constinit std::uint32_t inside = 0; // calls under way
constinit std::uint32_t files = 0;  // descriptors open

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
struct Moment {
  std::uint64_t counter, monotonic;
};
constinit Moment first{};

Moment this_moment() {
  Moment best{};
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

void keep_clocks(Counter counter) {
  const Moment last = this_moment();
  stopped = {last.counter, last.monotonic, now(CLOCK_REALTIME), now(CLOCK_BOOTTIME), 0};
  if (counter == Counter::refused || first.counter == 0 || last.counter <= first.counter) return;
  const auto ns = static_cast<double>(last.monotonic - first.monotonic);
  const auto counted = static_cast<double>(last.counter - first.counter);
  stopped.scale = static_cast<std::uint64_t>(ns / counted * 4294967296.0);
}

[[gnu::always_inline]] inline std::uint64_t clock_ns(clockid_t clock, const std::uint64_t& when_stopped) {
  if (calls_are_stopped()) [[unlikely]]
    return when_stopped + since_stopped();
  return now(clock);
}

void wait_for(const std::uint32_t& a, const std::uint32_t& b) {
  const std::uint64_t until = monotonic_ns() + kPatienceNs;
  while ((__atomic_load_n(&a, __ATOMIC_SEQ_CST) | __atomic_load_n(&b, __ATOMIC_SEQ_CST)) != 0 &&
         monotonic_ns() < until)
    yield(); // as long as that may be called
}

} // namespace

void stop_calls(Counter counter) {
  process_id(); // from now on it is remembered
  __atomic_store_n(&call_stage, 1u, __ATOMIC_SEQ_CST);
  wait_for(files, inside);
  keep_clocks(counter);
  __atomic_store_n(&call_stage, 2u, __ATOMIC_SEQ_CST);
  wait_for(inside, inside);
}

void allow_calls() {
  __atomic_store_n(&call_stage, 0u, __ATOMIC_SEQ_CST);
}

void never_call() {
  call_stage = 2;
}

void forget_calls() {
  inside = files = 0;
}

// Counted before the stage is read, so that stop_calls() sees each call that it does not stop.
Passage::Passage(bool opens) {
  __atomic_fetch_add(&inside, 1u, __ATOMIC_SEQ_CST);
  free_ = __atomic_load_n(&call_stage, __ATOMIC_SEQ_CST) < (opens ? 1 : 2);
}
Passage::~Passage() {
  __atomic_fetch_sub(&inside, 1u, __ATOMIC_RELEASE);
}

void opened(long fd) {
  if (fd >= 0) __atomic_fetch_add(&files, 1u, __ATOMIC_RELAXED);
}
void closed() {
  __atomic_fetch_sub(&files, 1u, __ATOMIC_RELEASE);
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
