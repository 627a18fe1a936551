// Purpose: tells address space that a program reserved and never touched from memory that it uses.
#pragma once

#include <cstdint>

#include "analyzer/attribute/peak_composition.h"

namespace memtrace::report {

// True for anonymous mappings that the program, or an allocator other than glibc's, made by mmap itself, of
// which less than 1 part in 16 was touched when last looked at. mimalloc reserves 1 GiB, OpenBLAS 65 MiB.
constexpr bool is_reservation(const replay::Holding& holding) {
  constexpr std::uint64_t kLeast = 32 << 20; // bytes
  constexpr std::uint64_t kTouchedPart = 16;
  return holding.kind == format::Kind::mmap_anon && !holding.tensor && !holding.sampled &&
         holding.largest >= kLeast && holding.resident < holding.bytes / kTouchedPart;
}

// Returns the bytes of reservations that were never touched.
constexpr std::uint64_t untouched(const replay::Holding& holding) {
  return is_reservation(holding) ? holding.bytes - holding.resident : 0;
}
inline std::uint64_t untouched(const replay::Holdings& alive) {
  std::uint64_t out = 0;
  for (const replay::Holding& holding : alive) out += untouched(holding);
  return out;
}

} // namespace memtrace::report
