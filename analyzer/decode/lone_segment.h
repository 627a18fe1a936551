// Purpose: reads the records of one segment that does not continue another.
#pragma once

#include <vector>

#include "analyzer/decode/segment_file.h"
#include "preload/format/records.h"

namespace memtrace::trace {

// Returns the records of the segment, at most `most`. Fewer if the file ends early or a byte is invalid.
std::vector<format::RingRecord> records_of(const File& file, const Segment& segment, std::size_t most);

} // namespace memtrace::trace
