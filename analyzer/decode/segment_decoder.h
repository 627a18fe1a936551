// Purpose: decodes the payload of one segment into ring records, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analyzer/decode/growing_model.h"
#include "preload/format/record_coding.h"

namespace memtrace::trace {

// Reads a payload that the caller keeps alive. Never reads outside of it. `model` belongs to the thread and
// source. If the segment does not continue the one before, the caller restarts the model.
class Decoder {
 public:
  Decoder(std::span<const std::uint8_t> payload, Model& model)
      : at_(payload.data()), end_(payload.data() + payload.size()), model_(&model) {}

  // Continues where `other` is, on copies of its payload and of its model.
  Decoder(const Decoder& other, const std::uint8_t* others_payload, std::span<const std::uint8_t> payload,
          Model& model)
      : at_(payload.data() + (other.at_ - others_payload)),
        end_(payload.data() + payload.size()),
        model_(&model),
        damaged_(other.damaged_) {}

  // Returns false at the end of the payload. After an invalid byte it always returns false, and damaged() is
  // true. `commit` of the records is 0.
  bool next(format::RingRecord& out);
  bool damaged() const { return damaged_; }

 private:
  bool fail();
  bool varint(std::uint64_t& out);
  bool long_varint(std::uint64_t& out);
  bool word(char layout, std::uint64_t& value);
  bool half(std::uint32_t last, std::uint32_t& out);
  bool head(Model::Guess& base);
  bool block(std::uint8_t mask, Model::Guess& base);

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  Model* model_;
  bool damaged_ = false;
};

} // namespace memtrace::trace
