// Purpose: reads the records of one segment that does not continue another.
#include "analyzer/decode/lone_segment.h"

#include <memory>

#include "analyzer/decode/segment_decoder.h"

namespace memtrace::trace {

std::vector<format::RingRecord> records_of(const File& file, const Segment& segment, std::size_t most) {
  std::vector<std::uint8_t> payload(segment.header.payload_bytes);
  payload.resize(file.read(segment.offset + sizeof segment.header, payload.data(), payload.size()));
  const auto model = std::make_unique<Model>(); // too large for a stack
  model->restart();
  Decoder decoder(payload, *model);
  std::vector<format::RingRecord> out;
  format::RingRecord record{};
  while (out.size() < most && decoder.next(record)) out.push_back(record);
  return out;
}

} // namespace memtrace::trace
