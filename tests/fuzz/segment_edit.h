// Purpose: fuzz inputs that are segments: taken apart, their checksums mended, put together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "preload/format/file_headers.h"

namespace memtrace::tests {

// A segment that says this in its flags keeps the checksum it has: how damage is met is tested, too.
inline constexpr std::uint8_t kKeepChecksum = 0x80;

// The checksum of each segment whose payload is there is made right.
std::string with_checksums(std::string_view bytes);

struct Piece { // a segment, or bytes that are none
  bool whole = false;
  format::SegmentHeader header{};
  std::string bytes; // payload, or all of it
};
std::vector<Piece> pieces_of(std::string_view bytes);
std::string joined(const std::vector<Piece>& pieces);

// Records of one payload. `whole`: all bytes of it made sense.
std::vector<format::RingRecord> decoded(std::string_view payload, bool& whole);
std::string encoded(const std::vector<format::RingRecord>& records);
// Expects that what is encoded is decoded to the same records.
void expect_round_trip(const std::vector<format::RingRecord>& records);

} // namespace memtrace::tests
