// Purpose: reads how much of one mapping is in memory, from /proc/self/smaps.
// Runs: on the background thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// For kernels before Linux 6.7, which do not tell which pages of a large reservation are present. The kernel
// walks the page tables of each mapping up to the requested one: 25 ns for each present page.
class SmapsReader {
 public:
  void open();
  void close();
  void forget() { open_ = false; } // after a fork: the parent owns the descriptor

  // Returns the resident bytes of the mapping that begins at `start`; 0: not known. Must be called in order of
  // address.
  std::uint64_t resident_of(std::uint64_t start);

 private:
  static constexpr std::size_t kBytes = 8 * 1024; // a line has at most a page

  const char* next_line();

  bool open_ = false;
  long fd_ = 0;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  char text_[kBytes] = {};
};

} // namespace memtrace::record
