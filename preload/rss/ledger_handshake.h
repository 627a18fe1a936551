// Purpose: safe points for a ledger: a thread of the program queries the allocator for its retained memory, and
// pauses, within limits, while the background thread measures the pages.
// Runs: on the program's threads, outside their allocator's calls.
//
// The background thread cannot query the allocator: it has none of glibc's thread-local data, and in a program
// of one thread glibc takes no locks. And peaks are short: they end with the death of a large block, often less
// than a millisecond after they were reached. So a thread that will free a large block pauses first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/allocator/allocator_stats.h"
#include "preload/record/live_levels.h"

namespace memtrace::record {

// The answer of the allocator. Its time is given in bytes that were allocated since recording began.
struct AllocatorAnswer {
  bool given = false; // the allocator has a call that reports its memory
  KeptFree kept;
  std::int64_t flowed = 0;
  std::uint64_t moving = 0; // bytes of a block that realloc has copied, with an unknown new place
};

enum class Call : std::uint32_t { none, wanted, asking, answered, taking };
extern constinit std::uint32_t ledger_call;
extern constinit std::int64_t ledger_brink;
void stand_for_ledger();
void stand_before_fall(std::size_t given);
void stand_before_purge(std::uint64_t address, std::size_t bytes);

// Answers a call for a ledger. Runs after a call of the allocator, and at the edges of phases. In a signal
// handler, the thread may be inside the allocator, so stand_for_ledger() refuses. Most callers took the
// allocator's locks just before.
inline void offer_ledger_turn() {
  if (__atomic_load_n(&ledger_call, __ATOMIC_RELAXED) == static_cast<std::uint32_t>(Call::wanted)) [[unlikely]]
    stand_for_ledger();
}

// Runs before a large block dies.
inline constexpr std::size_t kLargeDeath = 64 * 1024;
inline void before_large_death(std::size_t given) {
  if (given >= kLargeDeath && host_level() > __atomic_load_n(&ledger_brink, __ATOMIC_RELAXED)) [[unlikely]]
    stand_before_fall(given);
}

// Runs before an allocator other than glibc's returns pages to the kernel. The allocator holds its locks, so it
// is not queried. The peak of jemalloc's realloc is here: the block was copied, and its old place will be
// freed.
inline void before_purge(const void* p, std::size_t bytes) {
  if (bytes >= kLargeDeath && host_level() > __atomic_load_n(&ledger_brink, __ATOMIC_RELAXED)) [[unlikely]]
    stand_before_purge(reinterpret_cast<std::uint64_t>(p), bytes);
}

// Queries the allocator at the orderly end, on the thread that ends the process.
void answer_at_end();

// --- the background thread ---

void call_for_ledger();
// True if a thread has answered, and may be paused: the caller takes the ledger now.
bool ledger_is_answered();
// True if a thread of the program is paused until the ledger is taken.
bool a_thread_stands();
// True if no thread answered for a while: the caller takes the ledger with the previous answer. At a peak the
// while is shorter; `is_at_peak` is called only if that decides.
bool answer_timed_out(bool (*is_at_peak)());
// True if no thread is answering: the caller takes the ledger now, with the previous answer.
bool take_unanswered();
const AllocatorAnswer& last_answer();
// Ends the pause of the thread. `resident`: RSS of the ledger; 0: there is none. `most_live`: the highest
// `live`. `cost`: the CPU time for which the thread was paused.
void ledger_was_taken(std::uint64_t resident, std::int64_t most_live, std::uint64_t cost);
// Returns how long threads of the program were paused so far, in ns. It counts the CPU time of the ledgers, not
// delays by other processes.
std::uint64_t stood_so_far();

// Resets the state in a forked child. `raw`: no handlers ran, so the allocator's locks may be held forever, and
// it is not queried.
void forget_ledger_moments(bool raw);

} // namespace memtrace::record
