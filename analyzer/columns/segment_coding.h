// Purpose: codes the records of a segment as the recorder did, so that its bytes come out again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/decode/growing_model.h"
#include "preload/format/file_headers.h"
#include "preload/format/predictor.h"

namespace memtrace::columns {

// The parts of a segment's header that do not follow from its records.
struct SegmentStart {
  std::uint16_t version = 0;
  std::uint8_t source = 0;
  std::uint8_t flags = 0;
  std::uint32_t thread = 0;
  std::uint32_t records = 0;
  std::uint64_t first_sequence = 0;
  std::uint64_t trace_id = 0;
};

// Follows the coding of all threads of a file. Has the models of the threads that had a segment last, because a
// model takes 190 KiB.
class SegmentCoding {
 public:
  SegmentCoding();
  ~SegmentCoding();

  // Returns the header and the payload. Returns nullopt if no recorder makes such a segment, or if it continues
  // one that this object does not have.
  std::optional<std::string> segment(const SegmentStart& start, std::span<const format::RingRecord> records);

  // Returns the records of a whole segment, if segment() makes its bytes from them and from `start`, which this
  // sets. Returns null for all others: a reader needs their bytes as they are. A file uses only one of both
  // functions.
  const std::vector<format::RingRecord>* records(std::string_view segment, SegmentStart& start);

 private:
  struct ThreadCoding;
  ThreadCoding* thread(const SegmentStart& start);
  std::optional<std::string> coded(ThreadCoding& coding, const SegmentStart& start,
                                   std::span<const format::RingRecord> records);

  std::vector<std::unique_ptr<ThreadCoding>> threads_;
  std::uint64_t segments_ = 0;
  std::vector<std::uint8_t> buffer_;
  std::vector<format::RingRecord> records_;
};

} // namespace memtrace::columns
