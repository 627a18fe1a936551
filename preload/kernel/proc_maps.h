// Purpose: /proc/self/maps, mapping by mapping.
// Runs: on the background thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  char path[256] = {}; // empty: anonymous. What is longer is cut
};

// One line of it, without the line's end. False: it is none.
bool parse_mapping(const char* line, std::size_t bytes, Mapping* out);

// Memory without a file, or the like of it: named by the kernel or by the program.
bool is_anonymous(const Mapping& one);

// Has a buffer of its own, so that a reader may go on after others have read. Not for a stack that may be
// small.
class MapsReader {
 public:
  void open(); // from the first mapping on
  void close();
  bool is_open() const { return open_; }
  // After a fork: the descriptor is another's.
  void forget() { open_ = false; }

  // In order of address. False: that was all.
  bool next(Mapping* out);

 private:
  static constexpr std::size_t kBytes = 16 * 1024; // a line has at most a page

  bool refill();

  bool open_ = false;
  long fd_ = 0;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  char text_[kBytes] = {};
};

} // namespace memtrace::record
