// Purpose: tells a hook that it runs in a forked child that memtrace has not initialised yet.
// Runs: inside each hook.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/state/upcalls.h"

namespace memtrace::record {

// A page that fork wipes. A child of a raw clone runs no handlers, but finds the page empty and initialises
// itself. If the kernel has no such pages, `here` is 1 in every process.
struct ForkMark {
  std::uint32_t here;
  std::uint32_t reserved;
  // Blocks of fewer bytes are counted on the shortest path of a hook: exact_min, at most kMostSmall, or 0 in a
  // disabled process.
  std::size_t small_below;
};
// A page less the header of a block, so that a block with a mapping of its own is never below it.
inline constexpr std::size_t kMostSmall = 4088;
[[gnu::visibility("hidden")]] extern constinit ForkMark* fork_mark;

inline void notice_fork() {
  if (fork_mark->here == 0) [[unlikely]]
    begin_life_of_raw_child();
}

// Makes a new page for this process. If memory is short, forks are not noticed.
void set_fork_mark();

} // namespace memtrace::record
