// Room: record. Runs in the drain and, when its ring is full, on the victim's thread.
// Job: ring records -> the payload of a segment.
#include "record/encode.h"

#include <cstring>

#include "format/checksum.h"

namespace memtrace::record {

using format::high;
using format::low;
using format::zigzag;

void Encoder::varint(std::uint64_t value) {
  while (value >= 0x80) {
    *at_++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *at_++ = static_cast<std::uint8_t>(value);
}

void Encoder::word(char layout, std::uint64_t value, std::uint64_t last) {
  if (layout == 'w') {
    varint(zigzag(static_cast<std::int64_t>(value - last)));
  } else if (layout == 'h') {
    varint(zigzag(static_cast<std::int64_t>(low(value)) - low(last)));
    varint(zigzag(static_cast<std::int64_t>(high(value)) - high(last)));
  } else {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
}

bool Encoder::add(const format::RingRecord& record) {
  if (static_cast<std::size_t>(end_ - at_) < format::kMaxCoded || record.type >= format::kEventTypes)
    return false;
  Last& last = last_[record.type];
  *at_++ = record.type;
  std::uint8_t* mask = at_++;
  *mask = 0;
  varint(zigzag(static_cast<std::int64_t>(record.stamp - stamp_)));
  if (record.kind != last.kind || record.flags != last.flags) {
    *mask |= format::kMaskHead;
    *at_++ = record.kind;
    *at_++ = static_cast<std::uint8_t>(record.flags);
    *at_++ = static_cast<std::uint8_t>(record.flags >> 8);
    last.kind = record.kind;
    last.flags = record.flags;
  }
  for (std::size_t i = 0; i < format::kWords; ++i) {
    if (record.word[i] == last.word[i]) continue;
    *mask |= static_cast<std::uint8_t>(1u << i);
    word(format::kEventLayouts[record.type][i], record.word[i], last.word[i]);
    last.word[i] = record.word[i];
  }
  stamp_ = record.stamp;
  if (record.stamp < first_stamp_) first_stamp_ = record.stamp;
  if (record.stamp > last_stamp_) last_stamp_ = record.stamp;
  types_ |= std::uint64_t{1} << record.type;
  ++records_;
  return true;
}

format::SegmentHeader Encoder::header(std::uint64_t trace_id, std::uint32_t thread, format::Source source,
                                      std::uint64_t first_sequence, std::uint8_t flags) const {
  format::SegmentHeader header{};
  std::memcpy(header.magic, format::kSegmentMagic, sizeof header.magic);
  header.version = format::kVersion;
  header.source = static_cast<std::uint8_t>(source);
  header.flags = flags;
  header.payload_bytes = static_cast<std::uint32_t>(bytes());
  header.thread = thread;
  header.records = records_;
  header.first_sequence = first_sequence;
  header.first_stamp = records_ != 0 ? first_stamp_ : 0;
  header.last_stamp = last_stamp_;
  header.types = types_;
  header.trace_id = trace_id;
  header.checksum = format::checksum(format::checksum(0, &header, sizeof header), begin_, bytes());
  return header;
}

} // namespace memtrace::record
