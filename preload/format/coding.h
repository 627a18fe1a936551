// Room: format. Shapes only: how a record becomes bytes of a segment.
// Job: the varints that writer and reader must agree on.
#pragma once

#include "format/event.h"

namespace memtrace::format {

// A record in a segment: type, mask, then the fields that the mask names, in this order:
//   bit 7  kind (1 byte) and flags (2 bytes) differ from the last record of this type
//   bit 6  unused, 0
//   bits 0-5  word i follows
// The stamp always follows the mask, as zigzag varint of the difference to the record before.
// A word of layout w is a zigzag varint of the difference to the same word of the last record of
// this type; h is two such varints of 32-bit halves; b is eight raw bytes. A word that is not
// named equals that of the last record of this type. At the start of a segment all are 0.
inline constexpr std::uint8_t kMaskHead = 0x80;
inline constexpr std::size_t kMaxCoded = 2 + 10 + 3 + kWords * 12; // bytes of one record at most

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

} // namespace memtrace::format
