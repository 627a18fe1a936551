// Room: record. Runs inside the victim's malloc.
// Job: the table of threads.
#include "preload/record/thread.h"

#include <cstddef>
#include <cstring>

#include "preload/record/drain.h"
#include "preload/record/life.h"
#include "preload/record/loss.h"
#include "preload/record/os.h"
#include "preload/record/os_gate.h"
#include "preload/record/recorder.h"
#include "preload/record/ring.h"
#include "preload/record/sampling.h"
#include "preload/record/settings.h"
#include "preload/record/small.h"
#include "preload/record/spin_lock.h"
#include "preload/record/trace_file.h"

namespace memtrace::record {

alignas(64) constinit format::SmallTotals uncounted{};
thread_local constinit Local local{};

namespace {

constexpr std::size_t kMaxThreads = 32 * 1024; // alive at once, or ended and not yet taken over
constexpr std::size_t kBatch = 64;             // new records before the dead are looked for
constexpr std::uint32_t kLooks = 512;          // threads asked about at once
// In a forked child that is only too young. Looks at each 2 KiB cost 5 % of the instructions of a pair of 64
// bytes and 40 % of one of 512, at each 16 KiB 1 and 5 %.
constexpr std::int64_t kOftenBytes = 16 * 1024;

constinit SpinLock table_lock;
constinit Thread* threads[kMaxThreads] = {};
constinit std::uint32_t made = 0;       // entries of `threads`
constinit std::uint32_t next_index = 1; // 0 is the recorder's own
constinit std::uint32_t since_scan = 0;
constinit std::uint32_t scan_from = 0;
constinit bool table_is_full = false; // when a thread wanted a record last
constinit bool looks_are_often = false;

Thread* fresh() {
  // The last one is kept for the thread that writes the end.
  if (made >= (reserve_is_open() ? kMaxThreads : kMaxThreads - 1)) return nullptr;
  if (made % kBatch == 0) {
    auto* batch = static_cast<Thread*>(os::map_private(kBatch * sizeof(Thread)));
    if (batch == nullptr) return nullptr;
    for (std::size_t i = 0; i < kBatch; ++i) threads[made + i] = batch + i;
  }
  return threads[made++];
}

// Returns the record of a thread that has ended, its flows written out; null if none was found. Each look asks
// the kernel about a few threads, on from where the last look ended: with 20,000 alive, all of them took 2 ms.
// One whose ring waits for a pass is left for later: a pass made here, on a disk that took 150 ms for a write,
// kept other new threads from the table until they lost their events, and the program took 32 s instead of 0.5.
Thread* left_over(bool* wants_pass) {
  if (made < kBatch || ++since_scan < kBatch / 2) return nullptr;
  for (std::uint32_t looks = 0; looks < kLooks && looks < made; ++looks) {
    scan_from = scan_from + 1 < made ? scan_from + 1 : 0;
    Thread* const thread = threads[scan_from];
    if (thread->tid == 0) return thread;
    const bool only_pass_helps = ring_waits_for_pass(*thread) && !has_left_over(*thread);
    if (!only_pass_helps) {
      if (os::thread_exists(static_cast<int>(thread->tid))) continue;
      if (ring_release(*thread)) return thread;
    }
    *wants_pass = true;
    if (!only_pass_helps && pass_is_under_way()) break; // the next look would wait for the same pass
  }
  since_scan = 0; // look again after some more
  return nullptr;
}

// Table lock held. Returns the record, which is this thread's from then on; null: there is none to be had.
Thread* enter_table(bool* wants_pass) {
  Thread* thread = left_over(wants_pass);
  if (thread != nullptr) *wants_pass = false;
  if (thread == nullptr) thread = fresh();
  table_is_full = thread == nullptr;
  if (thread == nullptr) return nullptr;
  std::memset(thread, 0, offsetof(Thread, scratch)); // not the scratch, which would touch its pages
  thread->index = next_index++;
  thread->tid = static_cast<std::uint32_t>(os::thread_id());
  thread->pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  thread->pace.random = seed_for(thread->tid);
  thread->pace.until_sample = next_interval(thread->pace.random, settings.sample);
  thread->pace.until_tick = tick_bytes(*thread);
  // In this order for a signal handler on this thread: a thread that is there counts in its own place, and no
  // countdown runs before.
  local.small = &thread->own;
  asm volatile("" ::: "memory");
  local.thread = thread;
  asm volatile("" ::: "memory");
  local.births_left = 0; // the first is looked at
  local.deaths_left = tick_bytes(*thread);
  set_look_at_births(*thread, tick_bytes(*thread));
  set_look_at_deaths(*thread, tick_bytes(*thread));
  return thread;
}

// Bytes of another thread's that no record carries when its counter reaches `look_at`.
std::uint64_t bytes_until(const std::uint64_t& look_at, std::uint64_t published) {
  const std::uint64_t then = __atomic_load_n(&look_at, __ATOMIC_RELAXED);
  return then > published ? then - published : 0;
}

// Bytes of another thread's, without a slot, that a kill may leave in no file.
std::uint64_t most_uncounted(const Thread& thread) {
  const std::uint64_t births =
      bytes_until(thread.pace.look_at_allocated, thread.published.allocated) + thread.folded.allocated;
  const std::uint64_t deaths =
      bytes_until(thread.pace.look_at_freed, thread.published.freed) + thread.folded.freed;
  // Where blocks are only counted, births of large ones are looked at as often as deaths.
  if (settings.counting) return births + deaths;
  return births > deaths ? births : deaths;
}

} // namespace

Thread* make_this_thread() {
  if (os::calls_are_stopped()) return nullptr; // nobody can tell which threads have ended
  if (state() == State::cold) wait_for_beginning();
  Thread* thread = nullptr;
  bool wants_pass = false;
  {
    const Locked locked(table_lock);
    if (!locked) return nullptr;
    thread = enter_table(&wants_pass);
  }
  if (wants_pass && drain_is_running()) {
    wake_drain();
  } else if (wants_pass && state() == State::hot && !disk_is_slow()) {
    drain_rings(false);
  }
  return thread;
}

format::Loss loss_without_thread() {
  return os::calls_are_stopped() || table_is_full ? format::Loss::memory : format::Loss::busy;
}

format::SmallTotals take_unpublished_of_others() {
  format::SmallTotals sum{};
  const Locked locked(table_lock);
  if (!locked) return sum;
  for (std::uint32_t i = 0; i < made; ++i) {
    if (threads[i]->tid == 0 || threads[i] == local.thread) continue;
    const format::SmallTotals flows = unpublished(*threads[i]);
    set_published(*threads[i], flows);
    add(sum, flows);
    add(sum, take_folded(*threads[i]));
  }
  return sum;
}

format::SmallTotals unpublished_of_all() {
  format::SmallTotals sum{};
  const Locked locked(table_lock);
  if (!locked) return sum;
  for (std::uint32_t i = 0; i < made; ++i) {
    if (threads[i]->tid == 0) continue;
    add(sum, unpublished(*threads[i]));
    add(sum, threads[i]->folded);
  }
  return sum;
}

void set_uncounted_bounds() {
  const Locked locked(table_lock);
  if (!locked) return;
  for (std::uint32_t i = 0; i < made; ++i) {
    Thread& thread = *threads[i];
    if (thread.tid != 0 && &thread != local.thread) set_uncounted_bound(thread, most_uncounted(thread));
  }
}

void look_often_without_slot(bool often) {
  looks_are_often = often;
}

std::int64_t tick_bytes(const Thread& thread) {
  return looks_are_often && thread.slot == nullptr ? kOftenBytes : kTickBytes;
}

std::uint64_t thread_within(std::uint64_t start, std::uint64_t end) {
  const Locked locked(table_lock);
  if (!locked) return 0;
  const auto first = static_cast<std::uint32_t>(os::process_id());
  for (std::uint32_t i = 0; i < made; ++i) {
    const Thread& thread = *threads[i];
    if (thread.pointer < start || thread.pointer >= end || thread.tid == 0 || thread.tid == first) continue;
    if (os::thread_exists(static_cast<int>(thread.tid))) return thread.pointer;
  }
  return 0;
}

void forget_other_threads() {
  table_lock.reset();
  Thread* const mine = local.thread;
  for (std::uint32_t i = 0; i < made; ++i) threads[i] = nullptr;
  made = 0;
  next_index = 1;
  since_scan = scan_from = 0;
  if (mine == nullptr) return;
  format::TextId phases[kMaxPhases];
  for (std::size_t i = 0; i < kMaxPhases; ++i) phases[i] = mine->phases[i];
  const std::uint32_t depth = mine->depth;
  local.thread = nullptr;
  Thread* const thread = this_thread();
  if (thread == nullptr) {
    local.small = &uncounted;
    local.births_left = local.deaths_left = 0;
    return;
  }
  for (std::size_t i = 0; i < kMaxPhases; ++i) thread->phases[i] = phases[i];
  thread->depth = depth;
}

Thread* thread_at(std::uint32_t index) {
  if (local.thread != nullptr && local.thread->index == index) return local.thread;
  for (std::uint32_t i = 0; i < made; ++i)
    if (threads[i]->index == index) return threads[i];
  return nullptr;
}

} // namespace memtrace::record
