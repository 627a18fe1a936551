// Purpose: the blocks of columns, and the runs of a file: bytes, or a segment.
// Writer and reader share each function.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "analyzer/columns/column_bytes.h"
#include "analyzer/columns/segment_coding.h"
#include "preload/format/crc32c.h"
#include "preload/format/record_coding.h"

namespace memtrace::columns {

struct BlockStart {
  std::uint32_t bytes;    // of the block behind this
  std::uint32_t checksum; // CRC-32C of the bytes of the file
};

inline std::uint32_t checksum(std::uint32_t before, std::string_view bytes) {
  return format::checksum(before, bytes.data(), bytes.size());
}

// Codes which run follows.
template <class Io>
class RunColumns {
 public:
  // Returns 0 if a segment follows.
  std::uint64_t bytes(Io& io, std::uint64_t count) {
    io.number(kRuns, count);
    return count;
  }
  void start(Io& io, SegmentStart& start) {
    field(io, start.version, last_.version);
    field(io, start.source, last_.source);
    field(io, start.flags, last_.flags);
    field(io, start.thread, last_.thread);
    field(io, start.records, last_.records);
    std::uint64_t& next = next_[{start.thread, start.source}];
    field(io, start.first_sequence, next);
    field(io, start.trace_id, last_.trace_id);
    next = start.first_sequence + start.records;
    last_ = start;
    if (next_.size() > kThreads) next_.clear();
  }

 private:
  static constexpr std::size_t kThreads = 4096; // a segment takes 8 bytes, and each could be of a new thread

  template <class Field>
  static void field(Io& io, Field& value, std::uint64_t base) {
    std::uint64_t coded = format::zigzag(static_cast<std::int64_t>(std::uint64_t{value} - base));
    io.number(kRuns, coded);
    value = static_cast<Field>(base + static_cast<std::uint64_t>(format::unzigzag(coded)));
  }

  SegmentStart last_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint64_t> next_; // sequence
};

} // namespace memtrace::columns
