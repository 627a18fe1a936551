// Purpose: the records of each segment of a file, decoded thread by thread.
#pragma once

#include <functional>
#include <vector>

#include "analyzer/decode/segment_file.h"
#include "preload/format/records.h"

namespace memtrace::redact {

struct SegmentRecords {
  std::size_t index = 0;                   // in the list of segments
  std::vector<format::RingRecord> records; // fewer than the header says if the payload is invalid behind them
  bool readable =
      false; // false: its coding continues a segment that could not be read, or its source is unknown
};

// Calls `take` for each segment, and for those of one thread and source in the order of the file.
void each_segment(const trace::File& file, const trace::SegmentIndex& index,
                  const std::function<void(SegmentRecords&)>& take);

} // namespace memtrace::redact
