// Purpose: blocks below MEMTRACE_EXACT_MIN: counted each, drawn now and then.
// Runs: inside every malloc and free.
#pragma once

#include "preload/record/sampled_address_filter.h"
#include "preload/state/settings.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// The block is not small: to be recorded by itself.
inline bool tracked(std::size_t given) {
  return given >= settings.exact_min;
}

// The whole of what most blocks cost: a countdown and two counters. True if the countdown has run out: then the
// block is not counted yet, see below. The countdown comes first, so a thread counts nothing before it was
// seen: its first block was counted in no thread's counters if a handler allocated meanwhile.
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

// When the countdown has run out: the thread's first block, a tick, or a block to be drawn. Counts it.
void look_at_birth(std::uint64_t address, std::size_t given, std::size_t asked);
void look_at_death(std::size_t given);

// The counters may lie in a page that a child of a raw clone shares with its parent: not before this.
void check_raw_fork();

// A small block, from a hook that has time. Before the real free for a death.
inline void small_born(std::size_t given, std::uint64_t address = 0, std::size_t asked = 0) {
  if (count_small_birth(given)) [[unlikely]]
    look_at_birth(address, given, asked);
}
inline void small_died(std::size_t given) {
  if (count_small_death(given)) [[unlikely]]
    look_at_death(given);
}

// A block that maybe_tracked() lets through is about to die, after small_died(): if it was drawn, its record.
void sampled_dies(std::uint64_t address, std::size_t given);
// The same in two parts, about a realloc: true if it was drawn, and is now forgotten. It may be remembered
// again.
bool sampled_leaves(std::uint64_t address);
void sampled_stays(std::uint64_t address);
void sampled_died(std::uint64_t address, std::size_t given, format::Stamp death);

} // namespace memtrace::record
