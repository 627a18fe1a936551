// Purpose: rules for blocks and levels that the recorder's rollup and the analyzer's replay share.
#pragma once

#include "preload/format/records.h"

namespace memtrace::format {

constexpr bool is_mapping(Kind kind) {
  return kind == Kind::mmap_anon || kind == Kind::mmap_file || kind == Kind::shm || kind == Kind::stack;
}

// True if blocks of this kind count in `live`. Registered memory was counted when the program got it. A block
// of kind `none` lies inside memory that was counted.
constexpr bool is_memory(Kind kind) {
  return kind != Kind::none && kind != Kind::registered && kind != Kind::mmap_file;
}

// Returns the address after the block. If that address does not exist, returns the highest address.
constexpr std::uint64_t end_of(std::uint64_t address, std::uint64_t bytes) {
  return bytes > ~std::uint64_t{0} - address ? ~std::uint64_t{0} : address + bytes;
}

// Levels are modulo 2^64, because a mistake of the program or a damaged trace can make any sum.
constexpr void grow(std::int64_t& level, std::uint64_t bytes) {
  level = static_cast<std::int64_t>(static_cast<std::uint64_t>(level) + bytes);
}
constexpr void shrink(std::int64_t& level, std::uint64_t bytes) {
  level = static_cast<std::int64_t>(static_cast<std::uint64_t>(level) - bytes);
}

// Returns the bytes of [from, to) that no mapping covers. `each_near(at, see)` calls see(start, end) for
// mappings: at least for those that cover `at`, and for the first mapping that begins after `at`.
template <class EachNear>
std::uint64_t uncovered_bytes(std::uint64_t from, std::uint64_t to, EachNear each_near) {
  std::uint64_t uncovered = 0;
  while (from < to) {
    std::uint64_t covered_to = from, next = to;
    each_near(from, [&](std::uint64_t start, std::uint64_t end) {
      if (end <= from) return;
      if (start <= from && end > covered_to) covered_to = end;
      if (start > from && start < next) next = start;
    });
    if (covered_to == from) uncovered += next - from;
    from = covered_to != from ? covered_to : next;
  }
  return uncovered;
}

} // namespace memtrace::format
