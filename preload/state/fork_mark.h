// Purpose: tells a hook that it runs in a forked child which has not begun its own life yet.
// Runs: inside each hook.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/state/upcalls.h"

namespace memtrace::record {

// A page that fork wipes: a child of a raw clone, which runs no handlers, finds it empty and begins its own
// life. If the kernel has no such pages, `here` is 1 in every process.
struct ForkMark {
  std::uint32_t here;
  std::uint32_t reserved;
  // Blocks of fewer bytes are counted only: exact_min, or 0 in an inert process.
  std::size_t small_below;
};
[[gnu::visibility("hidden")]] extern constinit ForkMark* fork_mark;

inline void notice_fork() {
  if (fork_mark->here == 0) [[unlikely]]
    begin_life_of_raw_child();
}

// Makes a new page for this process. If there is no memory, no fork is noticed.
void set_fork_mark();

} // namespace memtrace::record
