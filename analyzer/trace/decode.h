// Room: trace. Trusts no byte.
// Job: the payload of one segment -> ring records, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/coding.h"

namespace memtrace::trace {

// Walks a payload that its owner keeps alive. Never reads outside of it.
class Decoder {
 public:
  explicit Decoder(std::span<const std::uint8_t> payload)
      : at_(payload.data()), end_(payload.data() + payload.size()) {}

  // False at the end of the payload, and for good once a byte made no sense: then damaged() is true.
  // `commit` of what comes out is 0.
  bool next(format::RingRecord& out);
  bool damaged() const { return damaged_; }

 private:
  struct Last {
    std::uint8_t kind = 0;
    std::uint16_t flags = 0;
    std::uint64_t word[format::kWords] = {};
  };
  bool fail();
  bool varint(std::uint64_t& out);
  bool word(char layout, std::uint64_t& value);
  bool half(std::uint32_t last, std::uint32_t& out);
  bool head(Last& last);

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  format::Stamp stamp_ = 0;
  bool damaged_ = false;
  Last last_[format::kEventTypes] = {};
};

} // namespace memtrace::trace
