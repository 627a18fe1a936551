// Purpose: codes ring records into the payload of a segment.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/format/file_headers.h"
#include "preload/format/record_coding.h"

namespace memtrace::record {

// Codes the records of one segment into a buffer that the caller owns. It allocates nothing, and fails only if
// the buffer is full. `model` is the model of the thread and source. If the reader may not have the segment
// before this one, the caller has restarted the model. If the segment is not written, the caller must restart
// the model.
class Encoder {
 public:
  Encoder(std::uint8_t* out, std::size_t capacity, format::Model& model)
      : begin_(out), at_(out), end_(out + capacity), model_(&model), continues_(!model.fresh()) {}

  // Codes `record`. Returns false and writes nothing if fewer than format::kMaxCoded bytes are left.
  bool add(const format::RingRecord& record);

  // Prefetches for a record that will be added soon. Call it for each record, in order. always_inline: gcc 12
  // removes calls of a function that only prefetches.
  [[gnu::always_inline]] void expect(const format::RingRecord& record) {
    expected_trait_ = model_->prefetch_after(expected_trait_, record);
  }

  std::size_t bytes() const { return static_cast<std::size_t>(at_ - begin_); }
  std::uint32_t records() const { return records_; }

  // Returns the header of the records that were added, with its checksum. The caller gives `trace_id`, the
  // other arguments and further flags.
  format::SegmentHeader header(std::uint64_t trace_id, std::uint32_t thread, format::Source source,
                               std::uint64_t first_sequence, std::uint8_t flags = 0) const;

 private:
  std::uint8_t* block(std::uint8_t* at, const format::RingRecord& record, format::Model::Guess& base,
                      unsigned& mask, std::uint16_t& distance) const;

  std::uint8_t* begin_;
  std::uint8_t* at_;
  std::uint8_t* end_;
  format::Model* model_;
  bool continues_;
  std::uint32_t records_ = 0;
  format::Stamp first_stamp_ = ~format::Stamp{0};
  format::Stamp last_stamp_ = 0;
  std::uint64_t types_ = 0;
  std::uint64_t expected_trait_ = 0; // of the record of the last expect()
};

// The model of the segments that are written once, when recording begins, by the thread that begins it.
extern constinit format::Model beginning_model;

} // namespace memtrace::record
