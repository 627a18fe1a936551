// Purpose: moments for a ledger: a thread of the program asks the allocator what it keeps, and stands still,
// within bounds, while the background thread looks at the pages.
// Runs: on the program's threads, outside their allocator's calls.
//
// The background thread cannot ask: it has none of glibc's thread-local data, and beside a program of one
// thread glibc takes no locks. And peaks are short: they end with the death of a large block, often less than a
// millisecond after they were reached, so a thread that is about to free one stands first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/allocator/allocator_stats.h"
#include "preload/record/live_levels.h"

namespace memtrace::record {

// What it said, and when by the bytes that came since recording began.
struct AllocatorAnswer {
  bool given = false; // it has a call that tells
  KeptFree kept;
  std::int64_t flowed = 0;
  std::uint64_t moving = 0; // of a block that realloc has copied: its new place is not known yet
};

enum class Call : std::uint32_t { none, wanted, asking, answered, taking };
extern constinit std::uint32_t ledger_call;
extern constinit std::int64_t ledger_brink;
void stand_for_ledger();
void stand_before_fall(std::size_t given);
void stand_before_purge(std::uint64_t address, std::size_t bytes);

// After a call of the allocator, at the edges of phases. In a signal handler the thread may be inside the
// allocator: stand_for_ledger() refuses there, and most calls that come here took the same locks just before.
inline void offer_ledger_turn() {
  if (__atomic_load_n(&ledger_call, __ATOMIC_RELAXED) == static_cast<std::uint32_t>(Call::wanted)) [[unlikely]]
    stand_for_ledger();
}

// Before a large block dies.
inline constexpr std::size_t kLargeDeath = 64 * 1024;
inline void before_large_death(std::size_t given) {
  if (given >= kLargeDeath && host_level() > __atomic_load_n(&ledger_brink, __ATOMIC_RELAXED)) [[unlikely]]
    stand_before_fall(given);
}

// Before an allocator that is not glibc's gives pages back. It holds its locks, so it is not asked. The top of
// jemalloc's realloc is here: the block was copied, and its old place goes.
inline void before_purge(const void* p, std::size_t bytes) {
  if (bytes >= kLargeDeath && host_level() > __atomic_load_n(&ledger_brink, __ATOMIC_RELAXED)) [[unlikely]]
    stand_before_purge(reinterpret_cast<std::uint64_t>(p), bytes);
}

// At the orderly end, on the thread that ends the process.
void answer_at_end();

// --- the background thread ---

void call_for_ledger();
// A thread has answered, and may stand: the ledger is to be taken now.
bool ledger_is_answered();
// Nobody came for a while. True: the ledger is to be taken with the answer before.
bool answer_timed_out(bool at_peak);
// The same at once. False: a thread is at it.
bool take_unanswered();
const AllocatorAnswer& last_answer();
// Who stands may go on. RSS of the ledger, 0 if there is none, the highest `live`, and the CPU time that they
// stood for.
void ledger_was_taken(std::uint64_t resident, std::int64_t highest_live, std::uint64_t cost);
// For how long threads of the program stood so far, in ns: of the ledgers' CPU time, not that of others who
// kept them waiting.
std::uint64_t stood_so_far();

// In a forked child. `raw`: no handlers ran, so the allocator's locks may be held for ever; it is not asked.
void forget_ledger_moments(bool raw);

} // namespace memtrace::record
