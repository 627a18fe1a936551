// Purpose: decodes the segments of a file that grows, those of one type of record, without keeping the others.
#include "analyzer/follow/segment_stream.h"

#include "analyzer/decode/segment_decoder.h"

namespace memtrace::trace {

void SegmentStream::read(const File& file, const Segment& segment, const Take& take) {
  StreamCoding& coding = codings_[{segment.header.thread, segment.header.source}];
  if ((segment.header.flags & format::kContinues) == 0) {
    coding.skipped.clear();
    coding.broken = false;
    if (coding.model != nullptr) coding.model->restart();
  }
  const bool wanted = (segment.header.types & types_) != 0;
  if (!wanted && coding.skipped.size() < kMostSkipped) {
    coding.skipped.push_back(segment);
    return;
  }
  for (const Segment& before : coding.skipped)
    if (!coding.broken) coding.broken = !decode(file, before, coding, nullptr);
  coding.skipped.clear();
  if (!coding.broken) coding.broken = !decode(file, segment, coding, &take);
}

// Returns false if a record is missing.
bool SegmentStream::decode(const File& file, const Segment& segment, StreamCoding& coding, const Take* take) {
  if (coding.model == nullptr) {
    coding.model = std::make_unique<Model>();
    coding.model->restart();
  }
  std::vector<std::uint8_t> payload(segment.header.payload_bytes);
  payload.resize(file.read(segment.offset + sizeof(format::SegmentHeader), payload.data(), payload.size()));
  Decoder decoder(payload, *coding.model);
  format::RingRecord record{};
  for (std::uint32_t i = 0; i < segment.header.records; ++i) {
    if (!decoder.next(record)) return false;
    if (take != nullptr) (*take)(segment.header.thread, record);
  }
  return true;
}

} // namespace memtrace::trace
