// Purpose: reads /proc/self/maps, one mapping at a time.
// Runs: on the background thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool readable = false;
  bool executable = false;
  bool shared = false;
  char path[256] = {}; // empty: anonymous. Longer paths are truncated
};

// Parses one line of the file, without its newline. Returns false if it is not a mapping.
bool parse_mapping(const char* line, std::size_t bytes, Mapping* out);

// True if the mapping has no file: it has no name, or one that the kernel or the program gave it.
bool is_anonymous(const Mapping& one);

// Has its own buffer, so that a reader can continue after other readers have read. Too large for a stack that
// may be small.
class MapsReader {
 public:
  void open(); // starts at the first mapping
  void close();
  bool is_open() const { return open_; }
  // After a fork: the parent owns the descriptor.
  void forget() { open_ = false; }

  // Writes the next mapping, in order of address. Returns false after the last one.
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
