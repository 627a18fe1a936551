// Purpose: how much of one mapping is in memory, as the kernel counts it.
// Runs: on the background thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// For kernels that do not say which pages of a large reservation are there (before Linux 6.7). The kernel walks
// the page tables of each mapping up to the one that is asked for: 25 ns for each page that is there.
class SmapsReader {
 public:
  void open();
  void close();
  void forget() { open_ = false; } // after a fork: the descriptor is another's

  // Bytes of the mapping that begins at `start`; 0: not known. To be asked in order of address.
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
