// Purpose: codes the records of a segment as the recorder did, so that its bytes come out again.
#include "analyzer/columns/segment_coding.h"

#include <algorithm>
#include <cstring>

#include "analyzer/decode/segment_decoder.h"
#include "preload/format/crc32c.h"
#include "preload/trace/record_encoder.h"

namespace memtrace::columns {
namespace {

constexpr std::size_t kHeader = sizeof(format::SegmentHeader);
constexpr std::size_t kThreads = 128;

bool has_records(std::uint8_t source) {
  return source <= static_cast<std::uint8_t>(format::Source::snapshot) ||
         source == static_cast<std::uint8_t>(format::Source::keyframe);
}

} // namespace

struct SegmentCoding::ThreadCoding {
  std::uint32_t thread = 0;
  std::uint8_t source = 0;
  bool whole = true; // the last segment was coded to its end
  std::uint64_t used = 0;
  std::unique_ptr<format::Model> writing = std::make_unique<format::Model>();
  std::unique_ptr<trace::Model> reading;
};

SegmentCoding::SegmentCoding() = default;
SegmentCoding::~SegmentCoding() = default;

// Returns the coding of the segment's thread and source. Returns null if the segment continues one that was not
// coded.
SegmentCoding::ThreadCoding* SegmentCoding::thread(const SegmentStart& start) {
  const bool continues = (start.flags & format::kContinues) != 0;
  const auto found = std::find_if(threads_.begin(), threads_.end(), [&](const auto& other) {
    return other->thread == start.thread && other->source == start.source;
  });
  if (continues && (found == threads_.end() || !(*found)->whole)) return nullptr;
  ThreadCoding* coding = nullptr;
  if (found != threads_.end()) {
    coding = found->get();
  } else if (threads_.size() < kThreads) {
    coding = threads_.emplace_back(std::make_unique<ThreadCoding>()).get();
  } else {
    coding = std::min_element(threads_.begin(), threads_.end(), [](const auto& a, const auto& b) {
               return a->used < b->used;
             })->get();
  }
  coding->thread = start.thread;
  coding->source = start.source;
  coding->used = ++segments_;
  if (!continues) {
    coding->writing->restart();
    if (coding->reading) coding->reading->restart();
  }
  return coding;
}

std::optional<std::string> SegmentCoding::coded(ThreadCoding& coding, const SegmentStart& start,
                                                std::span<const format::RingRecord> records) {
  coding.whole = false;
  // The encoder wants room for one record more.
  const std::size_t most = std::min<std::size_t>(records.size(), format::kMaxPayload / format::kMaxCoded) + 1;
  if (buffer_.size() < most * format::kMaxCoded) buffer_.resize(most * format::kMaxCoded);
  record::Encoder encoder(buffer_.data(), buffer_.size(), *coding.writing);
  for (const format::RingRecord& record : records)
    if (!encoder.add(record)) return std::nullopt;
  if (encoder.bytes() > format::kMaxPayload) return std::nullopt;
  coding.whole = true;
  format::SegmentHeader header = encoder.header(
      start.trace_id, start.thread, static_cast<format::Source>(start.source), start.first_sequence);
  header.version = start.version;
  header.flags = start.flags;
  header.checksum = 0;
  header.checksum =
      format::checksum(format::checksum(0, &header, kHeader), buffer_.data(), header.payload_bytes);
  std::string out(kHeader + header.payload_bytes, '\0');
  std::memcpy(out.data(), &header, kHeader);
  std::memcpy(out.data() + kHeader, buffer_.data(), header.payload_bytes);
  return out;
}

std::optional<std::string> SegmentCoding::segment(const SegmentStart& start,
                                                  std::span<const format::RingRecord> records) {
  ThreadCoding* const coding = thread(start);
  if (coding == nullptr) return std::nullopt;
  return coded(*coding, start, records);
}

const std::vector<format::RingRecord>* SegmentCoding::records(std::string_view segment, SegmentStart& start) {
  format::SegmentHeader header{};
  std::memcpy(&header, segment.data(), kHeader);
  if (!has_records(header.source)) return nullptr;
  start = {header.version, header.source,         header.flags,   header.thread,
           header.records, header.first_sequence, header.trace_id};
  ThreadCoding* const coding = thread(start);
  if (coding == nullptr) return nullptr;
  if (coding->reading == nullptr) {
    coding->reading = std::make_unique<trace::Model>();
    coding->reading->restart();
  }
  const std::string_view payload = segment.substr(kHeader);
  trace::Decoder decoder({reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()},
                         *coding->reading);
  records_.clear();
  for (format::RingRecord record{}; decoder.next(record);) records_.push_back(record);
  if (records_.size() == header.records && coded(*coding, start, records_) == segment) return &records_;
  coding->whole = false;
  return nullptr;
}

} // namespace memtrace::columns
