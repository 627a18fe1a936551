// Purpose: births with numbers for addresses: appended to a ring, and read back from the trace.
#include "births.h"

#include "preload/os/timestamp.h"
#include "preload/ring/ring.h"
#include "reading.h"

namespace memtrace::tests {

bool append_birth(record::Thread& thread, std::uint64_t number) {
  format::RingRecord record = birth_of(number, 4096, record::draw_stamp());
  return record::ring_append(thread, record);
}

std::map<std::uint32_t, std::vector<std::uint64_t>> births_in(const Scratch& scratch) {
  std::map<std::uint32_t, std::vector<std::uint64_t>> out;
  for (const auto& [thread, records] :
       by_thread(read_segments(scratch.file("t.memtrace")), format::Source::ring))
    for (const format::RingRecord& record : records)
      if (is(record, format::EventType::birth)) out[thread].push_back(record.as<format::BirthEvent>().address);
  return out;
}

std::vector<std::uint64_t> numbers(std::uint64_t from, std::uint64_t to) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = from; i < to; ++i) out.push_back(i);
  return out;
}

} // namespace memtrace::tests
