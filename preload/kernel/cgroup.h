// Purpose: reads the kernel's figures of the memory cgroup of this process and of its ancestors, v1 or v2.
// Runs: on the background thread; before that thread starts, on the thread that begins to record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::record {

inline constexpr unsigned kMaxLevels = 12;

struct GroupPath {
  const char* text;
  std::size_t bytes; // the text continues after them
};

// Finds the process's present cgroup. True if it is another one than before.
bool find_group();
unsigned group_levels(); // the cgroup and its ancestors; 0: none is readable
GroupPath group_path(unsigned level);
bool group_is_version_two();
// In a forked child: forgets the cgroup, so that find_group() finds it again.
void forget_group();

// In bytes, except oom_kills and the numbers at the end. format::kNotSaid: the kernel does not give the figure.
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
  std::uint64_t dirty; // the part of `file` that must be written to disk first
  // Numbers since the cgroup began.
  std::uint64_t refaulted_pages;  // of files: evicted and read again
  std::uint64_t swapped_in_pages; // of anonymous memory: evicted and read again
  std::uint64_t major_faults;
  std::uint64_t throttled; // how often memory.high delayed a task; v1: 0

  // Returns the bytes that the kernel does not reclaim at a limit: all but the clean page cache.
  std::uint64_t held() const;
};
// Reads three or four files in about 30 us. Returns false if this level has no figures (the root of v2).
bool read_charge(unsigned level, Charge* out);

struct NodeShare { // bytes of the process's own cgroup on a NUMA node
  std::uint64_t anon;
  std::uint64_t file;
};
// Writes the shares of nodes 0 to `most` - 1. Returns how many nodes the kernel reports, at most `most`.
unsigned read_nodes(NodeShare* out, unsigned most);

struct GroupLimits {
  std::uint64_t high;
  std::uint64_t swap;    // v1: memory and swap together
  std::uint64_t highest; // the highest charge so far
  std::uint64_t met;     // how often the charge was at the limit
  std::uint64_t ooms;
  std::uint32_t kills_all; // memory.oom.group: 0 or 1; 2: not known
};
GroupLimits read_limits(unsigned level);

} // namespace memtrace::record
