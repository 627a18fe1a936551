// Purpose: reads /proc/self/maps, one mapping at a time.
// Runs: on the background thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/kernel/proc_lines.h"

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
  void open() { lines_.open("/proc/self/maps"); } // starts at the first mapping
  void close() { lines_.close(); }
  bool is_open() const { return lines_.is_open(); }
  void forget() { lines_.forget(); }

  // Writes the next mapping, in order of address. Returns false after the last one.
  bool next(Mapping* out);

 private:
  ProcLines<16 * 1024> lines_;
};

} // namespace memtrace::record
