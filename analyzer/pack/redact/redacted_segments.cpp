// Purpose: the records of a trace without private texts, in segments.
#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "analyzer/pack/redact/empty_text.h"
#include "analyzer/pack/redact/redacted_records.h"
#include "analyzer/pack/redact/segment_records.h"
#include "preload/format/crc32c.h"
#include "preload/trace/record_encoder.h"

namespace memtrace::redact {
namespace {

constexpr std::size_t kHeader = sizeof(format::SegmentHeader);
constexpr std::uint32_t kTextThread = format::kSharedThread - 1; // no thread of a trace has this number

// Returns the header, with its checksum, and the payload.
std::string segment(format::SegmentHeader header, const std::uint8_t* payload, std::size_t bytes) {
  header.payload_bytes = static_cast<std::uint32_t>(bytes);
  header.checksum = 0;
  header.checksum = format::checksum(format::checksum(0, &header, kHeader), payload, bytes);
  std::string out(kHeader + bytes, '\0');
  std::memcpy(out.data(), &header, kHeader);
  std::memcpy(out.data() + kHeader, payload, bytes);
  return out;
}

// Codes the segments of a file again, in the order of each_segment().
class Coding {
 public:
  std::string code(const trace::Segment& from, SegmentRecords& with) {
    format::SegmentHeader header = from.header;
    if (!with.readable) { // stays so: a reader gives up at the same place
      std::fill(buffer_.begin(), buffer_.end(), std::uint8_t{0});
      return segment(header, buffer_.data(), header.payload_bytes);
    }
    if ((header.flags & format::kContinues) == 0) model_->restart();
    record::Encoder encoder(buffer_.data(), buffer_.size(), *model_);
    for (format::RingRecord& record : with.records) {
      empty_text(record);
      if (!encoder.add(record)) refuse();
    }
    if (encoder.bytes() > format::kMaxPayload) refuse();
    return segment(header, buffer_.data(), encoder.bytes());
  }

 private:
  [[noreturn]] static void refuse() {
    throw std::runtime_error("a segment of the trace cannot be redacted: it becomes larger than 1 MiB");
  }

  std::unique_ptr<format::Model> model_ = std::make_unique<format::Model>();
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(format::kMaxPayload + format::kMaxCoded);
};

// A last segment that was cut off: its header says how many records are missing.
std::string torn_tail(const trace::File& file, std::uint64_t from, std::uint64_t bytes) {
  std::string out(bytes, '\0');
  format::SegmentHeader header{};
  if (bytes >= kHeader && file.read(from, &header, kHeader) == kHeader &&
      std::memcmp(header.magic, format::kSegmentMagic, sizeof header.magic) == 0)
    std::memcpy(out.data(), &header, kHeader);
  return out;
}

// Returns zeros for the bytes that no segment has, and the segment with the version of memtrace as it is.
std::string between(const trace::File& file, const trace::SegmentIndex& index, std::uint64_t from,
                    std::uint64_t to) {
  std::string out(to - from, '\0');
  const auto& writer = index.writer_segment();
  if (!writer || writer->offset < from) return out;
  const std::uint64_t at = writer->offset - from, bytes = kHeader + writer->header.payload_bytes;
  if (at + bytes <= out.size()) file.read(writer->offset, out.data() + at, bytes);
  return out;
}

std::vector<format::RingRecord> records_of(format::TextId id, std::string_view text, format::Stamp stamp) {
  std::vector<format::RingRecord> out;
  do {
    const std::string_view piece = text.substr(0, format::kTextChunk);
    text.remove_prefix(piece.size());
    format::TextEvent event{id, 0, {}};
    piece.copy(event.bytes, sizeof event.bytes);
    format::RingRecord& record = out.emplace_back();
    record.put(event);
    record.stamp = stamp;
    record.flags = static_cast<std::uint16_t>(piece.size() | (text.empty() ? 0 : format::kTextMore));
  } while (!text.empty());
  return out;
}

} // namespace

void empty_text(format::RingRecord& record) {
  if (record.type == static_cast<std::uint8_t>(format::EventType::text)) {
    record.put(format::TextEvent{record.as<format::TextEvent>().id, 0, {}});
    record.flags &= format::kTextMore;
  } else if (record.type == static_cast<std::uint8_t>(format::EventType::thread)) {
    auto thread = record.as<format::ThreadEvent>();
    std::memset(thread.name, 0, sizeof thread.name);
    record.put(thread);
  }
}

std::string text_segments(const std::map<format::TextId, std::string>& texts,
                          const format::SegmentHeader& like) {
  std::string out;
  std::uint64_t sequence = 0;
  std::vector<std::uint8_t> buffer(format::kMaxPayload);
  const auto model = std::make_unique<format::Model>();
  std::vector<format::RingRecord> all;
  for (const auto& [id, text] : texts)
    for (const format::RingRecord& record : records_of(id, text, like.first_stamp)) all.push_back(record);
  for (std::size_t i = 0; i < all.size();) {
    model->restart();
    record::Encoder encoder(buffer.data(), buffer.size(), *model);
    while (i < all.size() && encoder.add(all[i])) ++i;
    const format::SegmentHeader header =
        encoder.header(like.trace_id, kTextThread, format::Source::definitions, sequence);
    out += segment(header, buffer.data(), encoder.bytes());
    sequence += encoder.records();
  }
  return out;
}

std::string redacted_segments(const trace::File& file, const trace::SegmentIndex& index) {
  const std::vector<trace::Segment>& segments = index.segments();
  std::vector<std::string> coded(segments.size());
  Coding coding;
  each_segment(file, index,
               [&](SegmentRecords& with) { coded[with.index] = coding.code(segments[with.index], with); });
  std::string out;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    out += between(file, index, at, segments[i].offset);
    out += coded[i];
    coded[i] = {};
    at = segments[i].offset + kHeader + segments[i].header.payload_bytes;
  }
  return out + torn_tail(file, at, index.bytes() - at);
}

} // namespace memtrace::redact
