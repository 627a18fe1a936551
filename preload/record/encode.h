// Room: record. Runs in the drain and, when its ring is full, on the victim's thread.
// Job: ring records -> the payload of a segment.
#pragma once

#include "format/coding.h"
#include "format/header.h"

namespace memtrace::record {

// Codes one segment's records into a buffer the caller owns. No allocation, no failure but "full".
class Encoder {
 public:
  Encoder(std::uint8_t* out, std::size_t capacity) : begin_(out), at_(out), end_(out + capacity) {}

  // False, with nothing written, when fewer than format::kMaxCoded bytes are left.
  bool add(const format::RingRecord& record);

  std::size_t bytes() const { return static_cast<std::size_t>(at_ - begin_); }
  std::uint32_t records() const { return records_; }

  // The header over what was added, checksum included. `trace_id` and the rest are the caller's.
  format::SegmentHeader header(std::uint64_t trace_id, std::uint32_t thread, format::Source source,
                               std::uint64_t first_sequence, std::uint8_t flags = 0) const;

 private:
  struct Last {
    std::uint8_t kind = 0;
    std::uint16_t flags = 0;
    std::uint64_t word[format::kWords] = {};
  };
  void varint(std::uint64_t value);
  void word(char layout, std::uint64_t value, std::uint64_t last);

  std::uint8_t* begin_;
  std::uint8_t* at_;
  std::uint8_t* end_;
  std::uint32_t records_ = 0;
  format::Stamp stamp_ = 0;
  format::Stamp first_stamp_ = ~format::Stamp{0};
  format::Stamp last_stamp_ = 0;
  std::uint64_t types_ = 0;
  Last last_[format::kEventTypes] = {};
};

} // namespace memtrace::record
