// Room: record. The background thread.
// Job: /proc/self/maps, mapping by mapping.
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

// Reads to a static buffer: one at a time.
class MapsReader {
 public:
  MapsReader();
  ~MapsReader();
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  // In order of address. False: that was all.
  bool next(Mapping* out);

 private:
  bool refill();

  long fd_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

} // namespace memtrace::record
