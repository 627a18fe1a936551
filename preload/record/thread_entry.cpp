// Purpose: gives the calling thread its record.
// Runs: inside the program's malloc.
#include "preload/record/thread_entry.h"

#include <cstddef>
#include <cstring>

#include "preload/os/gate/syscall_gate.h"
#include "preload/os/threads.h"
#include "preload/record/block_sampler.h"
#include "preload/record/ended_thread.h"
#include "preload/record/live_levels.h"
#include "preload/record/thread_list.h"
#include "preload/ring/ring.h"
#include "preload/state/doorbell.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"
#include "preload/state/upcalls.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {

namespace {

constexpr std::uint32_t kFewThreads = 64; // with fewer threads, ended ones are not searched for
constexpr std::uint32_t kBetween = 32;    // new threads between two searches for ended ones
constexpr std::uint32_t kLooks = 512;     // threads that one search checks

constinit std::uint32_t since_scan = 0;
constinit std::uint32_t scan_from = 0;
constinit bool list_is_full = false; // when a thread last requested a record

// Returns the record of a thread that has ended, its flows written out; null if none was found. Each search
// checks only some threads, on from where the last search ended: with 20,000 alive, checking all took 2 ms.
//
// A thread whose ring waits for a pass is left for later. A pass here, on a disk that took 150 ms for a write,
// kept other new threads from the table. They lost their events, and the program took 32 s instead of 0.5 s.
Thread* left_over(bool* wants_pass) {
  if (threads_made() < kFewThreads || ++since_scan < kBetween) return nullptr;
  for (std::uint32_t looks = 0; looks < kLooks && looks < threads_made(); ++looks) {
    scan_from = scan_from + 1 < threads_made() ? scan_from + 1 : 0;
    Thread* const thread = thread_in_list(scan_from);
    if (thread->tid == 0) return thread;
    const bool only_pass_helps = ring_waits_for_pass(*thread) && !has_left_over(*thread);
    if (!only_pass_helps) {
      if (os::thread_exists(static_cast<int>(thread->tid))) continue;
      if (release_ended(*thread)) return thread;
    }
    *wants_pass = true;
    if (!only_pass_helps && pass_is_under_way()) break; // the next thread would wait for that pass too
  }
  since_scan = 0; // search again after more new threads
  return nullptr;
}

// Returns the record, which belongs to this thread from then on; null if there is none. The caller holds the
// threads lock.
Thread* enter_list(bool* wants_pass) {
  Thread* thread = left_over(wants_pass);
  if (thread != nullptr) *wants_pass = false;
  if (thread == nullptr) thread = add_to_list();
  list_is_full = thread == nullptr;
  if (thread == nullptr) return nullptr;
  keep_levels_of(*thread);
  share_among(threads_made());
  std::memset(thread, 0, offsetof(Thread, scratch)); // not the scratch, which would touch its pages
  thread->index = next_thread_index();
  thread->tid = static_cast<std::uint32_t>(os::thread_id());
  thread->pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  thread->pace.random = seed_for(thread->tid);
  thread->pace.until_sample = next_interval(thread->pace.random, settings.sample);
  thread->pace.until_tick = tick_bytes(*thread);
  // A signal handler on this thread needs this order. Once the thread has a record, it counts in its own place,
  // and no countdown runs before.
  local.small = &thread->own;
  asm volatile("" ::: "memory");
  local.thread = thread;
  asm volatile("" ::: "memory");
  local.births_left = 0; // the first birth is checked
  local.deaths_left = tick_bytes(*thread);
  set_look_at_births(*thread, tick_bytes(*thread));
  set_look_at_deaths(*thread, tick_bytes(*thread));
  return thread;
}

} // namespace

Thread* make_this_thread() {
  if (os::calls_are_stopped()) return nullptr; // the kernel cannot tell which threads have ended
  if (state() == State::buffering) wait_for_beginning();
  Thread* thread = nullptr;
  bool wants_pass = false;
  {
    const Locked locked(threads_lock);
    if (!locked) return nullptr;
    thread = enter_list(&wants_pass);
  }
  if (wants_pass && drain_is_running()) {
    wake_drain();
  } else if (wants_pass && state() == State::recording && !disk_is_slow()) {
    drain_rings(false);
  }
  return thread;
}

format::Loss loss_without_thread() {
  return os::calls_are_stopped() || list_is_full ? format::Loss::memory : format::Loss::busy;
}

void forget_other_threads() {
  Thread* const mine = local.thread;
  forget_list();
  since_scan = scan_from = 0;
  if (mine == nullptr) return;
  format::TextId phases[kMaxPhases];
  for (std::size_t i = 0; i < kMaxPhases; ++i) phases[i] = mine->phases[i];
  const std::uint32_t automatic = mine->automatic;
  const std::uint32_t depth = mine->depth;
  local.thread = nullptr;
  Thread* const thread = this_thread();
  if (thread == nullptr) {
    local.small = &uncounted;
    local.births_left = local.deaths_left = 0;
    return;
  }
  for (std::size_t i = 0; i < kMaxPhases; ++i) thread->phases[i] = phases[i];
  thread->automatic = automatic;
  thread->depth = depth;
}

} // namespace memtrace::record
