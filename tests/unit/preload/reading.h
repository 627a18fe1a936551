// Purpose: a reader of trace files of the tests' own, after docs/trace-format.md, that forgives nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "preload/format/file_headers.h"
#include "preload/format/predictor.h"

namespace memtrace::tests {

struct Segment {
  format::SegmentHeader header{};
  std::vector<format::RingRecord> records;
};

// Fails the test on any byte that is not as it should be: checksum, header fields, what is left over.
std::vector<Segment> read_segments(const std::string& path);
std::vector<format::RingRecord> decode(const std::uint8_t* payload, std::size_t bytes);
// Coded on from what `model` has seen.
std::vector<format::RingRecord> decode(const std::uint8_t* payload, std::size_t bytes, format::Model& model);

// Of one source: each thread's records in order of sequence. Fails the test on a gap or an overlap.
using ByThread = std::map<std::uint32_t, std::vector<format::RingRecord>>;
ByThread by_thread(const std::vector<Segment>& segments, format::Source source);
std::vector<format::RingRecord> all_of(const std::vector<Segment>& segments, format::EventType type);

// Texts by id, chunks put together.
std::map<std::uint32_t, std::string> texts_of(const std::vector<Segment>& segments);

inline bool is(const format::RingRecord& record, format::EventType type) {
  return record.type == static_cast<std::uint8_t>(type);
}

// The four small flows that a record carries or, as `counters`, is.
format::SmallTotals flows_of(const format::RingRecord& record);
format::SmallTotals& operator+=(format::SmallTotals& sum, const format::SmallTotals& more);

} // namespace memtrace::tests
