// Room: format. Shapes only: how a record becomes bytes of a segment.
// Job: the checksum and the varints that writer and reader must agree on.
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

struct ChecksumTable {
  std::uint32_t entry[256];
};
constexpr ChecksumTable make_checksum_table() {
  ChecksumTable table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0u);
    table.entry[i] = value;
  }
  return table;
}
inline constexpr ChecksumTable kChecksumTable = make_checksum_table();

// CRC-32C (Castagnoli), chained: start with 0, pass the last result on.
inline std::uint32_t checksum(std::uint32_t seed, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint32_t value = ~seed;
  for (std::size_t i = 0; i < bytes; ++i) value = value >> 8 ^ kChecksumTable.entry[(value ^ at[i]) & 0xFF];
  return ~value;
}

} // namespace memtrace::format
