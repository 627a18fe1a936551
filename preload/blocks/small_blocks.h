// Purpose: blocks below MEMTRACE_EXACT_MIN: each is counted, some are sampled.
// Runs: inside every malloc and free.
#pragma once

#include "preload/record/sampled_address_filter.h"
#include "preload/state/fork_mark.h"
#include "preload/state/settings.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// True if the block is not small, so it gets a record of its own.
inline bool tracked(std::size_t given) {
  return given >= settings.exact_min;
}

// For most blocks, the whole cost is a countdown and two counters. Returns true if the countdown has run out:
// then the block is not counted yet, see look_at_birth(). The countdown comes first, so a thread counts nothing
// before it is registered. Otherwise its first block was in no thread's counters if a signal handler allocated
// meanwhile.
inline bool count_small_birth(std::size_t given) {
  if (take_from(local.births_left, given)) [[unlikely]]
    return true;
  format::SmallTotals* const small = local.small;
  add_to(small->allocated, given);
  add_to(small->births, 1);
  return false;
}
inline bool count_small_death(std::size_t given) {
  if (take_from(local.deaths_left, given)) [[unlikely]]
    return true;
  format::SmallTotals* const small = local.small;
  add_to(small->freed, given);
  add_to(small->deaths, 1);
  return false;
}

// Counts a block after the countdown has run out: the first block of the thread, a tick, or a block to sample.
void look_at_birth(std::uint64_t address, std::size_t given, std::size_t asked);
void look_at_death(std::size_t given);

// Notices a raw fork. Call it before counting: the counters may be in a page that a child of a raw clone shares
// with its parent.
void notice_raw_fork();
inline void check_raw_fork() {
  if (fork_mark->here == 0) [[unlikely]]
    notice_raw_fork();
}

// Counts a small block in a hook that is not time-critical. For a death, call it before the real free.
inline void small_born(std::size_t given, std::uint64_t address = 0, std::size_t asked = 0) {
  if (count_small_birth(given)) [[unlikely]]
    look_at_birth(address, given, asked);
}
inline void small_died(std::size_t given) {
  if (count_small_death(given)) [[unlikely]]
    look_at_death(given);
}

// Records the death of a block that was sampled. Call it before the death and after small_died(), if
// maybe_tracked() is true for the block.
void sampled_dies(std::uint64_t address, std::size_t given);
// These are sampled_dies() in parts, for a realloc. sampled_leaves() returns true if the block was sampled, and
// forgets it. sampled_stays() remembers it again.
bool sampled_leaves(std::uint64_t address);
void sampled_stays(std::uint64_t address);
void sampled_died(std::uint64_t address, std::size_t given, format::Stamp death);

} // namespace memtrace::record
