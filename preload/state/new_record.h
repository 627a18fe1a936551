// Purpose: makes records with the fields that all records of a kind have.
// Runs: inside the program's malloc.
#pragma once

#include <cstring>

#include "preload/format/block_events.h"
#include "preload/format/definition_events.h"
#include "preload/os/timestamp.h"

namespace memtrace::record {

// Returns the record of `event`, stamped now. Kind and flags are 0.
template <class Event>
format::RingRecord record_of(const Event& event) {
  format::RingRecord record{};
  record.put(event);
  record.stamp = draw_stamp();
  return record;
}

// Calls put(record) for each chunk of a text. An empty text has one chunk, too.
template <class Put>
void each_text_record(format::TextId id, const char* text, std::size_t bytes, Put put) {
  do {
    format::TextEvent chunk{};
    const std::size_t here = bytes < sizeof chunk.bytes ? bytes : sizeof chunk.bytes;
    chunk.id = id;
    std::memcpy(chunk.bytes, text, here);
    format::RingRecord record = record_of(chunk);
    record.flags = static_cast<std::uint16_t>(here | (bytes > here ? format::kTextMore : 0));
    put(record);
    text += here;
    bytes -= here;
  } while (bytes != 0);
}

// Returns the record of these flows.
inline format::RingRecord counters_of(const format::SmallTotals& flows, format::Stamp stamp) {
  format::RingRecord record{};
  record.put(format::CountersEvent{flows});
  record.stamp = stamp;
  return record;
}

} // namespace memtrace::record
