// Purpose: the facts stored for one live block, in 48 bytes, because there may be millions of blocks.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/format/block_rules.h"
#include "preload/rollup/phase_paths.h"

namespace memtrace::rollup {

struct LedgerBlock {
  std::uint64_t address;
  std::uint64_t given; // bytes
  std::uint64_t asked; // bytes
  format::Stamp birth;
  std::uint32_t stack;
  StepId step;
  PathIndex path;
  std::uint8_t role; // index in the ledger's roles + 1; 0: no role
  std::uint8_t kind;
  std::uint8_t memory;
  std::uint8_t state;

  static constexpr std::uint8_t kUsed = 1;
  static constexpr std::uint8_t kTensor = 2;
  static constexpr std::uint8_t kCounted = 4; // in `live`
  static constexpr std::uint8_t kSampled = 8;
  static constexpr std::uint8_t kArena = 16; // an arena of Python for small objects
  static constexpr std::uint8_t kWhole = 32; // all its pages were seen resident

  bool is(std::uint8_t bit) const { return (state & bit) != 0; }
  std::uint64_t tensor_bytes() const { return !is(kTensor) ? 0 : asked != 0 ? asked : given; }
};
static_assert(sizeof(LedgerBlock) == 48);

using format::end_of;
using format::grow;
using format::shrink;
inline bool is_mapping(std::uint8_t kind) {
  return format::is_mapping(static_cast<format::Kind>(kind));
}
inline bool is_memory(std::uint8_t kind) {
  return format::is_memory(static_cast<format::Kind>(kind));
}

} // namespace memtrace::rollup
