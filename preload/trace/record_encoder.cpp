// Purpose: codes ring records into the payload of a segment.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/trace/record_encoder.h"

#include <cstring>

#include "preload/format/block_events.h"
#include "preload/format/crc32c.h"

namespace memtrace::record {

using format::high;
using format::low;
using format::Model;
using format::zigzag;

constinit format::Model beginning_model{};

namespace {

// The functions below write at `at`, and return the address after the last byte. A pointer in the encoder would
// be loaded and stored again for each byte: a byte may alias anything.
using Out = std::uint8_t*;

Out varint(Out at, std::uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<std::uint8_t>(value);
  return at;
}

Out word(Out at, char layout, std::uint64_t value, std::uint64_t base) {
  if (layout == 'w') return varint(at, zigzag(static_cast<std::int64_t>(value - base)));
  if (layout == 'a')
    return varint(at, zigzag(static_cast<std::int64_t>(format::rotated(value) - format::rotated(base))));
  if (layout == 'h') {
    at = varint(at, zigzag(static_cast<std::int64_t>(low(value)) - low(base)));
    return varint(at, zigzag(static_cast<std::int64_t>(high(value)) - high(base)));
  }
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

} // namespace

// Codes which block a death ends, and makes the base refer to that block. Sets `distance` to how many births
// ago the block was born, or to 0 if that is unknown.
std::uint8_t* Encoder::block(std::uint8_t* at, const format::RingRecord& record, Model::Guess& base,
                             unsigned& mask, std::uint16_t& distance) const {
  const std::uint64_t address = record.as<format::DeathEvent>().address;
  distance = model_->distance_of(address);
  if (distance == 0 || distance != base.distance) {
    mask |= 1;
    at = varint(at, distance);
    if (distance == 0) at = word(at, 'a', address, format::address_of(base));
  }
  if (const Model::Birth* const birth = model_->born(distance); birth != nullptr)
    format::refer_to(base, *birth);
  return at;
}

bool Encoder::add(const format::RingRecord& record) {
  if (static_cast<std::size_t>(end_ - at_) < format::kMaxCoded || record.type >= format::kEventTypes)
    return false;
  const auto type = static_cast<format::EventType>(record.type);
  std::uint8_t* const mask_at = at_;
  std::uint8_t* at = mask_at + 1;
  unsigned mask = 0;
  if (model_->likely_type() != record.type) {
    mask |= format::kMaskType;
    *at++ = record.type;
  }
  at = varint(at, zigzag(static_cast<std::int64_t>(record.stamp - model_->stamp)));
  Model::Guess base = model_->base(record.type);
  std::uint16_t distance = 0;
  if (type == format::EventType::death) at = block(at, record, base, mask, distance);
  if (record.kind != base.kind || record.flags != base.flags) {
    mask |= format::kMaskHead;
    *at++ = record.kind;
    *at++ = static_cast<std::uint8_t>(record.flags);
    *at++ = static_cast<std::uint8_t>(record.flags >> 8);
  }
  if (type == format::EventType::stack) model_->refine(base, (record.flags & format::kPythonFrame) != 0);
  unsigned words = format::words_that_differ(record.payload, base);
  if (type == format::EventType::death) words &= ~1u; // block() coded the address
  mask |= words;
  format::each_word(words, record.payload, base,
                    [&](std::size_t i, std::uint64_t value, std::uint64_t expected) {
                      at = word(at, format::layout_of(record.type, i, record.flags), value, expected);
                    });
  *mask_at = static_cast<std::uint8_t>(mask);
  at_ = at;
  model_->learn(record, distance);
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
  header.flags = static_cast<std::uint8_t>(flags | (continues_ ? format::kContinues : 0));
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
