// Purpose: the records of a trace without private texts, in segments and in rings.
#pragma once

#include <map>
#include <string>

#include "analyzer/decode/segment_file.h"
#include "analyzer/pack/redact/private_names.h"
#include "preload/format/records.h"

namespace memtrace::redact {

// Returns segments of source `definitions` with these texts, for the beginning of a trace file. `like`: a
// segment of that trace.
std::string text_segments(const std::map<format::TextId, std::string>& texts,
                          const format::SegmentHeader& like);

// Returns the file with the same segments, whose texts are empty. The number of records stays, and so do all
// sequence numbers. Bytes that are not in a whole segment become zeros. Throws std::runtime_error if a segment
// becomes too large.
std::string redacted_segments(const trace::File& file, const trace::SegmentIndex& index);

// Returns the ring file with the records that are not in a segment yet. Their texts are empty, and the bytes of
// older records are zeros. A file of another kind becomes zeros.
std::string redacted_rings(const std::string& content, PrivateNames& names);

} // namespace memtrace::redact
