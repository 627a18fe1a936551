// Purpose: all threads that the recorder knows.
// Runs: inside the program's malloc.
#include "preload/record/thread_list.h"

#include "preload/bounded/fork_locks.h"
#include "preload/os/mappings.h"
#include "preload/os/threads.h"
#include "preload/ring/ring.h"
#include "preload/state/settings.h"

namespace memtrace::record {

constinit SpinLock threads_lock;
REGISTER_LOCK(threads_lock, nullptr);

namespace {

constexpr std::size_t kMaxThreads = 32 * 1024; // alive at once, or ended and not yet reused
constexpr std::size_t kBatch = 64;             // records that are mapped at once

constinit Thread* threads[kMaxThreads] = {};
constinit std::uint32_t made = 0; // entries of `threads`
constinit std::uint32_t next_index = 1;

// Returns the bytes of another thread that no record carries when its counter reaches `look_at`.
std::uint64_t bytes_until(const std::uint64_t& look_at, std::uint64_t published) {
  const std::uint64_t then = __atomic_load_n(&look_at, __ATOMIC_RELAXED);
  return then > published ? then - published : 0;
}

// Returns the most bytes that a kill leaves in no file, for another thread that has no slot.
std::uint64_t most_uncounted(const Thread& thread) {
  const std::uint64_t births =
      bytes_until(thread.pace.look_at_allocated, thread.published.allocated) + thread.folded.allocated;
  const std::uint64_t deaths =
      bytes_until(thread.pace.look_at_freed, thread.published.freed) + thread.folded.freed;
  // If blocks are only counted, births of large ones are checked as often as deaths.
  if (settings.counting) return births + deaths;
  return births > deaths ? births : deaths;
}

} // namespace

std::uint32_t threads_made() {
  return made;
}

Thread* thread_in_list(std::uint32_t index) {
  return threads[index];
}

Thread* add_to_list() {
  if (made >= (reserve_is_open() ? kMaxThreads : kMaxThreads - 1)) return nullptr;
  if (made % kBatch == 0) {
    auto* batch = static_cast<Thread*>(os::map_private(kBatch * sizeof(Thread)));
    if (batch == nullptr) return nullptr;
    for (std::size_t i = 0; i < kBatch; ++i) threads[made + i] = batch + i;
  }
  return threads[made++];
}

std::uint32_t next_thread_index() {
  return next_index++;
}

void forget_list() {
  for (std::uint32_t i = 0; i < made; ++i) threads[i] = nullptr;
  made = 0;
  next_index = 1;
}

format::SmallTotals take_unpublished_of_others() {
  format::SmallTotals sum{};
  const Locked locked(threads_lock);
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
  const Locked locked(threads_lock);
  if (!locked) return sum;
  for (std::uint32_t i = 0; i < made; ++i) {
    if (threads[i]->tid == 0) continue;
    add(sum, unpublished(*threads[i]));
    add(sum, threads[i]->folded);
  }
  return sum;
}

LevelParts levels_of_threads() {
  LevelParts sum{};
  for (std::uint32_t i = 0; i < made; ++i) {
    const LevelParts& parts = threads[i]->levels;
    sum.live += __atomic_load_n(&parts.live, __ATOMIC_RELAXED);
    sum.flowed += __atomic_load_n(&parts.flowed, __ATOMIC_RELAXED);
    sum.tensors += __atomic_load_n(&parts.tensors, __ATOMIC_RELAXED);
  }
  return sum;
}

void forget_levels_of_threads() {
  for (std::uint32_t i = 0; i < made; ++i) threads[i]->levels = {};
}

format::Stamp last_stamp_of_threads() {
  format::Stamp last = 0;
  for (std::uint32_t i = 0; i < made; ++i)
    if (const format::Stamp stamp = __atomic_load_n(&threads[i]->drew, __ATOMIC_RELAXED); stamp > last)
      last = stamp;
  return last;
}

void set_uncounted_bounds() {
  const Locked locked(threads_lock);
  if (!locked) return;
  for (std::uint32_t i = 0; i < made; ++i) {
    Thread& thread = *threads[i];
    if (thread.tid != 0 && &thread != local.thread) set_uncounted_bound(thread, most_uncounted(thread));
  }
}

std::uint64_t thread_within(std::uint64_t start, std::uint64_t end) {
  const Locked locked(threads_lock);
  if (!locked) return 0;
  const auto first = static_cast<std::uint32_t>(os::process_id());
  for (std::uint32_t i = 0; i < made; ++i) {
    const Thread& thread = *threads[i];
    if (thread.pointer < start || thread.pointer >= end || thread.tid == 0 || thread.tid == first) continue;
    if (os::thread_exists(static_cast<int>(thread.tid))) return thread.pointer;
  }
  return 0;
}

Thread* thread_at(std::uint32_t index) {
  if (local.thread != nullptr && local.thread->index == index) return local.thread;
  for (std::uint32_t i = 0; i < made; ++i)
    if (threads[i]->index == index) return threads[i];
  return nullptr;
}

} // namespace memtrace::record
