// Purpose: records with the fields that each of a kind has.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/file_headers.h"
#include "preload/os/timestamp.h"

namespace memtrace::record {

// Returns a record of this type, stamped now, all else 0.
inline format::RingRecord record_of(format::EventType type) {
  format::RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.stamp = draw_stamp();
  return record;
}

// Returns the record of these flows.
inline format::RingRecord counters_of(const format::SmallTotals& flows, format::Stamp stamp) {
  format::RingRecord record{};
  record.type = static_cast<std::uint8_t>(format::EventType::counters);
  record.stamp = stamp;
  record.word[0] = flows.allocated;
  record.word[1] = flows.freed;
  record.word[2] = flows.births;
  record.word[3] = flows.deaths;
  return record;
}

} // namespace memtrace::record
