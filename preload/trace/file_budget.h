// Purpose: divides the bytes of MEMTRACE_MAX_TRACE among the files of a trace. Only this file has the
// fractions.
// Runs: when memtrace makes the files of a process.
#pragma once

#include "preload/format/file_headers.h"

namespace memtrace::record {

// A reader needs a second for so many bytes. With the default bound of all files, no file is larger.
inline constexpr std::uint64_t kStretchBytes = 64 << 20;

// The bytes of each file. Each is a whole number of pages, so that a file's blocks on disk are not larger than
// its bytes.
struct Shares {
  std::uint64_t rings = 0;
  std::uint64_t head = 0;        // the trace file, until windows begin
  std::uint64_t definitions = 0; // appended to the trace file after windows began
  // The bytes of each of the kWindowFiles windows. 0: there is too little room for windows, so the trace ends
  // at its bound.
  std::uint64_t window = 0;
  std::uint64_t rollup = 0;
  std::uint64_t stretch = kStretchBytes; // of a file, between two keyframes
};

inline constexpr std::uint64_t kMostRollup = 8 << 20;
inline constexpr std::uint64_t kLeastRollup = 20 * 1024;

// Returns the bytes of each file. Rings get an eighth, but at least four chunks. Of the rest, in fourteenths:
// head 4, windows 2 each, definitions 1, rollup rows 1. One page for each file remains for the file system's
// bookkeeping.
constexpr Shares shares_of(std::uint64_t max_bytes) {
  constexpr std::uint64_t kFiles = 3 + format::kWindowFiles;
  constexpr std::uint64_t kLeastRings = 4 * format::kChunkBytes;
  Shares shares;
  shares.rings = max_bytes / 8 > kLeastRings ? max_bytes / 8 : kLeastRings;
  const std::uint64_t taken = shares.rings + kFiles * format::kPage;
  const std::uint64_t part = max_bytes > taken ? (max_bytes - taken) / 14 / format::kPage * format::kPage : 0;
  if (part < kLeastRollup) {
    shares.rings = max_bytes;
    shares.head = max_bytes;
    return shares;
  }
  shares.head = 4 * part;
  shares.window = 2 * part;
  shares.definitions = part;
  shares.rollup = part < kMostRollup ? part : kMostRollup;
  return shares;
}

static_assert(shares_of(1 << 20).window != 0);
static_assert(shares_of(256 << 20).rings == 32 << 20);

} // namespace memtrace::record
