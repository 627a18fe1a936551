// Purpose: a reader of trace files of the tests' own, after docs/trace-format.md, that forgives nothing.
#include "reading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "preload/format/definition_events.h"

#include "preload/format/record_coding.h"

namespace memtrace::tests {
namespace {

// Bit by bit, so that it shares nothing with the writer's table.
std::uint32_t crc32c(std::uint32_t seed, const std::uint8_t* at, std::size_t bytes) {
  std::uint32_t value = ~seed;
  for (std::size_t i = 0; i < bytes; ++i) {
    value ^= at[i];
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0x82F63B78u : value >> 1;
  }
  return ~value;
}

class Bytes {
 public:
  Bytes(const std::uint8_t* at, std::size_t bytes) : at_(at), end_(at + bytes) {}
  bool done() const { return at_ == end_; }
  bool failed() const { return failed_; }
  std::uint64_t raw(int count) {
    std::uint64_t value = 0;
    for (int i = 0; i < count; ++i) value |= static_cast<std::uint64_t>(one()) << (8 * i);
    return value;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const std::uint8_t byte = one();
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  std::uint64_t difference() {
    const std::uint64_t value = number();
    return (value & 1) != 0 ? ~(value >> 1) : value >> 1;
  }
  std::uint64_t address(std::uint64_t base) {
    const std::uint64_t turned = (base >> 4 | base << 60) + difference();
    return turned << 4 | turned >> 60;
  }

 private:
  std::uint8_t one() {
    if (at_ != end_) return *at_++;
    failed_ = true;
    return 0;
  }
  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool failed_ = false;
};

void check(const Segment& segment) {
  const format::SegmentHeader& header = segment.header;
  EXPECT_EQ(header.version, format::kVersion);
  EXPECT_EQ(header.flags & ~(format::kContinues | format::kAfterWindow | format::kWhole), 0);
  ASSERT_EQ(header.records, segment.records.size());
  ASSERT_NE(header.records, 0u);
  std::uint64_t types = 0;
  format::Stamp first = ~format::Stamp{0}, last = 0;
  for (const format::RingRecord& record : segment.records) {
    types |= std::uint64_t{1} << record.type;
    first = std::min(first, record.stamp);
    last = std::max(last, record.stamp);
  }
  EXPECT_EQ(header.types, types);
  EXPECT_EQ(header.first_stamp, first);
  EXPECT_EQ(header.last_stamp, last);
}

// The block that a death ends: the base becomes like it.
void read_block(Bytes& in, bool coded, format::Model::Guess& base, const format::Model& model) {
  std::uint64_t& address = format::address_of(base);
  if (coded) {
    base.distance = static_cast<std::uint16_t>(in.number());
    if (base.distance == 0) address = in.address(address);
  }
  if (const auto* const birth = model.born(base.distance); birth != nullptr) {
    format::refer_to(base, *birth);
  } else {
    EXPECT_EQ(base.distance, 0) << "a block that was never born";
  }
}

void read_word(Bytes& in, char layout, std::uint64_t& word) {
  if (layout == 'w') {
    word += in.difference();
  } else if (layout == 'a') {
    word = in.address(word);
  } else if (layout == 'h') {
    const auto low = static_cast<std::uint32_t>(format::low(word) + in.difference());
    const auto high = static_cast<std::uint32_t>(format::high(word) + in.difference());
    word = format::halves(low, high);
  } else {
    word = in.raw(8);
  }
}

} // namespace

std::vector<format::RingRecord> decode(const std::uint8_t* payload, std::size_t bytes, format::Model& model) {
  std::vector<format::RingRecord> records;
  Bytes in(payload, bytes);
  while (!in.done()) {
    const std::uint64_t mask = in.raw(1);
    const std::uint64_t type = (mask & 0x40) != 0 ? in.raw(1) : model.likely_type();
    if (type >= format::kEventTypes) {
      ADD_FAILURE() << "no such type: " << type;
      break;
    }
    const format::Stamp stamp = model.stamp + in.difference();
    format::Model::Guess base = model.base(type);
    const bool death = type == static_cast<std::uint64_t>(format::EventType::death);
    if (death) read_block(in, (mask & 1) != 0, base, model);
    if ((mask & 0x80) != 0) {
      base.kind = static_cast<std::uint8_t>(in.raw(1));
      base.flags = static_cast<std::uint16_t>(in.raw(2));
    }
    const bool stack = type == static_cast<std::uint64_t>(format::EventType::stack);
    const bool python = stack && (base.flags & format::kPythonFrame) != 0;
    if (stack) model.refine(base, python);
    std::size_t i = 0;
    for (std::uint64_t& word : base.word) {
      if ((mask >> i & 1) != 0 && !(death && i == 0))
        read_word(in, python && i == 1 ? 'h' : format::kEventLayouts[type][i], word);
      ++i;
    }
    format::RingRecord record{};
    record.type = static_cast<std::uint8_t>(type);
    record.kind = base.kind;
    record.flags = base.flags;
    record.stamp = stamp;
    format::take_words(record.payload, base);
    model.learn(record, death ? base.distance : 0);
    records.push_back(record);
  }
  EXPECT_FALSE(in.failed()) << "the last record is cut off";
  return records;
}

std::vector<format::RingRecord> decode(const std::uint8_t* payload, std::size_t bytes) {
  const auto model = std::make_unique<format::Model>();
  return decode(payload, bytes, *model);
}

std::vector<Segment> read_segments(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<Segment> segments;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::unique_ptr<format::Model>> models;
  for (std::size_t at = 0; at < bytes.size();) {
    Segment segment;
    if (bytes.size() - at < sizeof segment.header) {
      ADD_FAILURE() << "a header is cut off at " << at;
      break;
    }
    std::memcpy(&segment.header, bytes.data() + at, sizeof segment.header);
    const std::size_t size = segment.header.payload_bytes;
    if (std::memcmp(segment.header.magic, "MTS\x02", 4) != 0 ||
        bytes.size() - at - sizeof segment.header < size) {
      ADD_FAILURE() << "no whole segment at " << at;
      break;
    }
    const auto* payload = reinterpret_cast<const std::uint8_t*>(bytes.data() + at + sizeof segment.header);
    format::SegmentHeader blank = segment.header;
    blank.checksum = 0;
    const std::uint32_t sum = crc32c(0, reinterpret_cast<const std::uint8_t*>(&blank), sizeof blank);
    EXPECT_EQ(segment.header.checksum, crc32c(sum, payload, size)) << "at " << at;
    at += sizeof segment.header + size;
    if (segment.header.source == static_cast<std::uint8_t>(format::Source::writer))
      continue; // text, no records
    auto& model = models[{segment.header.thread, segment.header.source}];
    if (model == nullptr) model = std::make_unique<format::Model>();
    if ((segment.header.flags & format::kContinues) == 0) model->restart();
    segment.records = decode(payload, size, *model);
    check(segment);
    segments.push_back(segment);
  }
  return segments;
}

ByThread by_thread(const std::vector<Segment>& segments, format::Source source) {
  std::vector<const Segment*> in_order;
  for (const Segment& segment : segments)
    if (segment.header.source == static_cast<std::uint8_t>(source)) in_order.push_back(&segment);
  std::stable_sort(in_order.begin(), in_order.end(), [](const Segment* a, const Segment* b) {
    return a->header.first_sequence < b->header.first_sequence;
  });
  ByThread out;
  for (const Segment* segment : in_order) {
    auto& records = out[segment->header.thread];
    EXPECT_EQ(segment->header.first_sequence, records.size()) << "thread " << segment->header.thread;
    records.insert(records.end(), segment->records.begin(), segment->records.end());
  }
  return out;
}

std::vector<format::RingRecord> all_of(const std::vector<Segment>& segments, format::EventType type) {
  std::vector<format::RingRecord> out;
  for (const Segment& segment : segments)
    for (const format::RingRecord& record : segment.records)
      if (is(record, type)) out.push_back(record);
  return out;
}

std::map<std::uint32_t, std::string> texts_of(const std::vector<Segment>& segments) {
  std::map<std::uint32_t, std::string> texts;
  for (const format::RingRecord& record : all_of(segments, format::EventType::text)) {
    const auto& chunk = record.as<format::TextEvent>();
    texts[static_cast<std::uint32_t>(chunk.id)].append(chunk.bytes, record.flags & 0xFF);
  }
  return texts;
}

format::SmallTotals flows_of(const format::RingRecord& record) {
  if (is(record, format::EventType::counters)) return record.as<format::CountersEvent>().flows;
  if (!is(record, format::EventType::birth) && !is(record, format::EventType::death)) return {};
  return format::carried_by(record).totals();
}

format::SmallTotals& operator+=(format::SmallTotals& sum, const format::SmallTotals& more) {
  sum.allocated += more.allocated;
  sum.freed += more.freed;
  sum.births += more.births;
  sum.deaths += more.deaths;
  return sum;
}

} // namespace memtrace::tests
