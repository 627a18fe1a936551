// Purpose: what the recorder codes comes out of the decoder, and what it did not code does no harm.
#include "analyzer/decode/segment_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <random>

#include "preload/trace/record_encoder.h"
#include "tests/unit/seed.h"

namespace memtrace::trace {
namespace {

using format::RingRecord;

// A word as its layout allows.
std::uint64_t as_layout(char layout, std::uint64_t value) {
  return layout == '0' ? 0 : value;
}

std::vector<RingRecord> extremes(std::uint8_t type) {
  constexpr std::uint64_t kValues[] = {0,
                                       ~std::uint64_t{0},
                                       1,
                                       std::uint64_t{1} << 63,
                                       0x00000000FFFFFFFF,
                                       0xFFFFFFFF00000000,
                                       0x7FFFFFFFFFFFFFFF,
                                       42};
  std::vector<RingRecord> records;
  std::uint64_t turn = 0;
  for (const std::uint64_t stamp : kValues) {
    RingRecord record{};
    record.type = type;
    record.kind = static_cast<std::uint8_t>(stamp);
    record.flags = static_cast<std::uint16_t>(stamp >> 3);
    record.stamp = stamp;
    std::size_t i = 0;
    for (auto& word : record.payload.word) {
      word = as_layout(format::kEventLayouts[type][i], kValues[(turn + i) % 8]);
      ++i;
    }
    records.push_back(record);
    ++turn;
  }
  return records;
}

class RoundTrip : public testing::TestWithParam<std::size_t> {};

TEST_P(RoundTrip, EveryWordAtItsExtremes) {
  const std::vector<RingRecord> records = extremes(static_cast<std::uint8_t>(GetParam()));
  std::vector<std::uint8_t> payload(4096);
  format::Model model;
  record::Encoder encoder(payload.data(), payload.size(), model);
  for (const RingRecord& record : records) ASSERT_TRUE(encoder.add(record));
  trace::Model reading;
  Decoder decoder({payload.data(), encoder.bytes()}, reading);
  RingRecord out{};
  for (const RingRecord& record : records) {
    ASSERT_TRUE(decoder.next(out));
    EXPECT_EQ(out.type, record.type);
    EXPECT_EQ(out.kind, record.kind);
    EXPECT_EQ(out.flags, record.flags);
    EXPECT_EQ(out.stamp, record.stamp);
    EXPECT_TRUE(std::ranges::equal(out.payload.word, record.payload.word));
  }
  EXPECT_FALSE(decoder.next(out));
  EXPECT_FALSE(decoder.damaged());
}

INSTANTIATE_TEST_SUITE_P(Types, RoundTrip, testing::Range(std::size_t{0}, format::kEventTypes),
                         [](const auto& type) { return std::string(format::kEventNames[type.param]); });

TEST(Decoder, NoiseEndsInDamageOrRecordsButNeverOutside) {
  std::mt19937 random(tests::seed(1));
  std::uniform_int_distribution<int> byte(0, 255);
  std::uniform_int_distribution<int> type(0, static_cast<int>(format::kEventTypes));
  trace::Model reading;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint8_t> payload(static_cast<std::size_t>(byte(random)));
    for (std::uint8_t& b : payload) b = static_cast<std::uint8_t>(byte(random));
    if (payload.size() > 1) payload[0] |= 0x40, payload[1] = static_cast<std::uint8_t>(type(random));
    reading.restart();
    Decoder decoder(payload, reading);
    RingRecord out{};
    std::size_t records = 0;
    while (decoder.next(out)) {
      ASSERT_LT(out.type, format::kEventTypes);
      ++records;
    }
    ASSERT_LE(records, payload.size() / 2 + 1);
    ASSERT_FALSE(decoder.next(out)); // once at its end it stays there
  }
}

TEST(Decoder, EveryCutIsDamageOrTheBorderOfARecord) {
  const std::vector<RingRecord> records = extremes(static_cast<std::uint8_t>(format::EventType::birth));
  std::vector<std::uint8_t> payload(4096);
  format::Model model;
  record::Encoder encoder(payload.data(), payload.size(), model);
  std::vector<std::size_t> borders = {0};
  for (const RingRecord& record : records) {
    ASSERT_TRUE(encoder.add(record));
    borders.push_back(encoder.bytes());
  }
  for (std::size_t cut = 0; cut < encoder.bytes(); ++cut) {
    trace::Model reading;
    Decoder decoder({payload.data(), cut}, reading);
    RingRecord out{};
    while (decoder.next(out)) {
    }
    const bool border = std::find(borders.begin(), borders.end(), cut) != borders.end();
    EXPECT_EQ(decoder.damaged(), !border) << "cut at " << cut;
  }
}

TEST(Decoder, UnknownTypesAreDamage) {
  for (const std::vector<std::uint8_t>& payload :
       {std::vector<std::uint8_t>{0x40, static_cast<std::uint8_t>(format::kEventTypes), 0},
        std::vector<std::uint8_t>{0, 0, 0}, // none is likely at the start
        std::vector<std::uint8_t>{0x40, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}}) {
    trace::Model reading;
    Decoder decoder(payload, reading);
    RingRecord out{};
    EXPECT_FALSE(decoder.next(out));
    EXPECT_TRUE(decoder.damaged());
  }
}

} // namespace
} // namespace memtrace::trace
