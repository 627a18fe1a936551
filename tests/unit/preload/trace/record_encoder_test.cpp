// Purpose: what the encoder writes, a reader of the page about the format gets back.
#include "preload/trace/record_encoder.h"
#include "preload/format/block_events.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "reading.h"
#include "tests/unit/seed.h"

namespace memtrace::record {
namespace {

using format::RingRecord;

constexpr std::uint64_t kEdges[] = {
    0, 1, 0x7F, 0x80, 0xFFFFFFFF, 0x100000000, std::uint64_t{1} << 63, ~std::uint64_t{0}};

RingRecord random_record(std::mt19937_64& random) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(random() % format::kEventTypes);
  record.kind = static_cast<std::uint8_t>(random() % 4);
  record.flags = static_cast<std::uint16_t>(random() % 3 == 0 ? random() : 0);
  record.stamp = random() % 20 == 0 ? random() : 1'000'000 + random() % 1000;
  const char* layout = format::kEventLayouts[record.type];
  for (auto& word : record.payload.word) {
    if (*layout++ == '0') continue;
    const std::uint64_t choice = random() % 4;
    word = choice == 0 ? random() : choice == 1 ? kEdges[random() % std::size(kEdges)] : random() % 8;
  }
  return record;
}

void expect_same(const RingRecord& got, const RingRecord& put, std::size_t number) {
  EXPECT_EQ(got.type, put.type) << number;
  EXPECT_EQ(got.kind, put.kind) << number;
  EXPECT_EQ(got.flags, put.flags) << number;
  EXPECT_EQ(got.stamp, put.stamp) << number;
  EXPECT_EQ(std::memcmp(&got.payload, &put.payload, sizeof put.payload), 0) << number;
}

TEST(Encoder, RoundTrip) {
  const std::uint64_t first = tests::seed(1);
  for (std::uint64_t seed = first; seed < first + 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> buffer(64 * 1024);
    format::Model model;
    Encoder encoder(buffer.data(), buffer.size(), model);
    std::vector<RingRecord> put;
    for (RingRecord record = random_record(random); encoder.add(record); record = random_record(random))
      put.push_back(record);
    ASSERT_EQ(encoder.records(), put.size());
    const auto got = tests::decode(buffer.data(), encoder.bytes());
    ASSERT_EQ(got.size(), put.size()) << "seed " << seed;
    for (std::size_t i = 0; i < put.size(); ++i) expect_same(got[i], put[i], i);
    if (HasFailure()) return;
  }
}

TEST(Encoder, FullWritesNothing) {
  std::vector<std::uint8_t> buffer(format::kMaxCoded + 40, 0xAB);
  format::Model model;
  Encoder encoder(buffer.data(), format::kMaxCoded + 2, model);
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(format::EventType::birth);
  for (auto& word : record.payload.word) word = 0x8000000080000000;
  ASSERT_TRUE(encoder.add(record));
  const std::size_t bytes = encoder.bytes();
  EXPECT_LE(bytes, format::kMaxCoded);
  EXPECT_FALSE(encoder.add(record));
  EXPECT_EQ(encoder.bytes(), bytes);
  EXPECT_EQ(encoder.records(), 1u);
  for (std::size_t i = format::kMaxCoded + 2; i < buffer.size(); ++i) EXPECT_EQ(buffer[i], 0xAB);
}

// The longest code of each type fits what the format promises.
TEST(Encoder, LongestRecords) {
  for (std::size_t type = 0; type < format::kEventTypes; ++type) {
    std::vector<std::uint8_t> buffer(2 * format::kMaxCoded);
    format::Model model;
    Encoder encoder(buffer.data(), buffer.size(), model);
    RingRecord record{};
    record.type = static_cast<std::uint8_t>(type);
    record.kind = 255;
    record.flags = 0xFFFF;
    record.stamp = std::uint64_t{1} << 63;
    const char* layout = format::kEventLayouts[type];
    for (auto& word : record.payload.word)
      if (const char is = *layout++; is != '0') word = is == 'h' ? ~std::uint64_t{0} : std::uint64_t{1} << 63;
    ASSERT_TRUE(encoder.add(record));
    EXPECT_LE(encoder.bytes(), format::kMaxCoded) << format::kEventNames[type];
    const auto got = tests::decode(buffer.data(), encoder.bytes());
    ASSERT_EQ(got.size(), 1u);
    expect_same(got[0], record, type);
  }
}

TEST(Encoder, RefusesUnknownTypes) {
  std::uint8_t buffer[256];
  format::Model model;
  Encoder encoder(buffer, sizeof buffer, model);
  RingRecord record{};
  record.type = format::kEventTypes;
  EXPECT_FALSE(encoder.add(record));
  EXPECT_EQ(encoder.bytes(), 0u);
}

TEST(Encoder, SmallDifferencesAreSmall) {
  std::uint8_t buffer[512];
  format::Model model;
  Encoder encoder(buffer, sizeof buffer, model);
  RingRecord record{};
  record.put(format::BirthEvent{0x7F1234560000, 4096, 4096, {}, {}, {}});
  record.stamp = 1'000'000'000'000;
  ASSERT_TRUE(encoder.add(record));
  const std::size_t before = encoder.bytes();
  record.stamp += 50;
  record.put(format::BirthEvent{0x7F1234560000 + 32, 4096, 4096, {}, {}, {}});
  ASSERT_TRUE(encoder.add(record));
  EXPECT_EQ(encoder.bytes() - before, 4u) << "mask, type, a byte of stamp, a byte of address";
}

// A birth and its death, the same again and again: but for the stamp there is nothing to say.
TEST(Encoder, RepetitionCostsTheStampAlone) {
  std::vector<std::uint8_t> buffer(64 * 1024);
  format::Model model;
  Encoder encoder(buffer.data(), buffer.size(), model);
  std::vector<RingRecord> put;
  std::size_t before = 0;
  for (int round = 0; round < 100; ++round) {
    if (round == 50) before = encoder.bytes();
    for (int block = 0; block < 3; ++block) {
      RingRecord record{};
      const std::uint64_t address = block == 1 ? 0x7F0000002000 : 0x7F0000001000;
      if (block < 2) {
        record.put(format::BirthEvent{address, 4104, 4096, format::StackId(block + 7), {}, {}});
      } else {
        record.put(format::DeathEvent{address, 4104, {}, {}});
      }
      record.kind = static_cast<std::uint8_t>(format::Kind::heap);
      record.flags = format::kTensor;
      record.stamp = put.empty() ? 1'000'000'000'000 : put.back().stamp + 50;
      ASSERT_TRUE(encoder.add(record));
      put.push_back(record);
    }
  }
  EXPECT_EQ(encoder.bytes() - before, 50u * 3 * 2) << "a mask and a byte of stamp each";
  const auto got = tests::decode(buffer.data(), encoder.bytes());
  ASSERT_EQ(got.size(), put.size());
  for (std::size_t i = 0; i < put.size(); ++i) expect_same(got[i], put[i], i);
}

// Where a segment may go without the one before it, the model was restarted, and nothing of before is needed.
TEST(Encoder, ARestartNeedsNothingOfBefore) {
  std::mt19937_64 random(tests::seed(7));
  format::Model model;
  std::vector<std::uint8_t> first(64 * 1024), second(64 * 1024), third(64 * 1024);
  Encoder one(first.data(), first.size(), model);
  while (one.add(random_record(random))) {
  }
  const auto flags = [](const Encoder& encoder) { return encoder.header(1, 1, format::Source::ring, 0).flags; };
  EXPECT_EQ(flags(one), 0);
  Encoder two(second.data(), second.size(), model);
  while (two.add(random_record(random))) {
  }
  EXPECT_EQ(flags(two), format::kContinues);
  model.restart();
  Encoder three(third.data(), third.size(), model);
  std::vector<RingRecord> put;
  for (RingRecord record = random_record(random); three.add(record); record = random_record(random))
    put.push_back(record);
  EXPECT_EQ(flags(three), 0);
  const auto got = tests::decode(third.data(), three.bytes());
  ASSERT_EQ(got.size(), put.size());
  for (std::size_t i = 0; i < put.size(); ++i) expect_same(got[i], put[i], i);
}

TEST(Encoder, Header) {
  std::uint8_t buffer[512];
  format::Model model;
  Encoder encoder(buffer, sizeof buffer, model);
  for (const format::Stamp stamp : {500u, 300u, 700u}) {
    RingRecord record{};
    record.type = static_cast<std::uint8_t>(stamp == 300 ? format::EventType::step : format::EventType::death);
    record.stamp = stamp;
    ASSERT_TRUE(encoder.add(record));
  }
  const format::SegmentHeader header = encoder.header(77, 5, format::Source::cold, 12);
  EXPECT_EQ(std::memcmp(header.magic, "MTS\x02", 4), 0);
  EXPECT_EQ(header.version, format::kVersion);
  EXPECT_EQ(header.source, static_cast<std::uint8_t>(format::Source::cold));
  EXPECT_EQ(header.payload_bytes, encoder.bytes());
  EXPECT_EQ(header.thread, 5u);
  EXPECT_EQ(header.records, 3u);
  EXPECT_EQ(header.first_sequence, 12u);
  EXPECT_EQ(header.first_stamp, 300u);
  EXPECT_EQ(header.last_stamp, 700u);
  EXPECT_EQ(header.types, std::uint64_t{1} << 2 | std::uint64_t{1} << 9);
  EXPECT_EQ(header.trace_id, 77u);
}

} // namespace
} // namespace memtrace::record
