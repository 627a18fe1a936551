// Purpose: reads how much of one mapping is in memory, from /proc/self/smaps.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/kernel/proc_lines.h"

namespace memtrace::record {

// For kernels before Linux 6.7, which do not tell which pages of a large reservation are present. The kernel
// walks the page tables of each mapping up to the requested one: 25 ns for each present page.
class SmapsReader {
 public:
  void open() { lines_.open("/proc/self/smaps"); }
  void close() { lines_.close(); }
  void forget() { lines_.forget(); }

  // Returns the resident bytes of the mapping that begins at `start`; 0: not known. Must be called in order of
  // address.
  std::uint64_t resident_of(std::uint64_t start);

 private:
  ProcLines<8 * 1024> lines_;
};

} // namespace memtrace::record
