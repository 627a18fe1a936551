// Purpose: the memory cgroup of this process and its ancestors, v1 or v2, and what the kernel says of each.
// Runs: on the background thread, and before there is one on the thread that begins to record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::record {

inline constexpr unsigned kMaxLevels = 12;

struct GroupPath {
  const char* text;
  std::size_t bytes; // it goes on behind them
};

// Looks where the process is now. True: in another group than before.
bool find_group();
unsigned group_levels(); // itself and its ancestors; 0: none can be read
GroupPath group_path(unsigned level);
bool group_is_version_two();
// In a forked child: to be looked for again.
void forget_group();

// Bytes; what the kernel does not say is format::kNotSaid.
struct Charge {
  std::uint64_t charge;
  std::uint64_t limit;
  std::uint64_t anon;
  std::uint64_t file; // page cache, shmem included
  std::uint64_t oom_kills;
  std::uint64_t shmem;
  std::uint64_t kernel; // page tables included
  std::uint64_t swap;
  std::uint64_t hugetlb;
  std::uint64_t page_tables;
  std::uint64_t dirty; // of `file`: to be written first

  // What no limit makes the kernel give back: all but clean page cache.
  std::uint64_t held() const;
};
// Three or four files, some 30 us. False: this level has no figures (the root of v2).
bool read_charge(unsigned level, Charge* out);

struct GroupLimits {
  std::uint64_t high;
  std::uint64_t swap;    // v1: memory and swap together
  std::uint64_t highest; // charge ever
  std::uint64_t met;     // how often the charge was at the limit
  std::uint64_t ooms;
  std::uint32_t kills_all; // memory.oom.group: 0, 1, 2 not said
};
GroupLimits read_limits(unsigned level);

} // namespace memtrace::record
