// Purpose: how far the highest level of a dropped window may be off, against sums by hand.
#include "preload/rollup/level_error.h"

#include <gtest/gtest.h>

namespace memtrace::rollup {
namespace {

using format::EventType;
using format::RingRecord;

RingRecord counters(std::uint64_t allocated, std::uint64_t freed) {
  RingRecord record{};
  record.put(format::CountersEvent{{allocated, freed, 0, 0}});
  return record;
}
RingRecord birth(std::uint32_t allocated, std::uint32_t freed) {
  RingRecord record{};
  // The bytes of the block itself are in each level.
  record.put(format::BirthEvent{0, 1 << 20, 0, {}, {}, {allocated, freed, 0, 0}});
  return record;
}

class LevelErrorTest : public testing::Test {
 protected:
  LevelErrorTest() { error_.window_begins(0); }
  // A pass over one thread that has these records, after each of them the same level.
  void pass(std::initializer_list<RingRecord> records, bool all = true) {
    error_.pass_begins(kLevel);
    error_.thread_begins(*records.begin());
    for (const RingRecord* record = records.begin(); record != records.end(); ++record)
      error_.add_record(*record, record + 1 == records.end() ? nullptr : record + 1, kLevel);
    error_.pass_ends(all);
  }
  void drop() { error_.window_dropped(0, header_); }
  std::int64_t too_low() const { return header_.highest_at_most - header_.highest; }
  std::int64_t too_high() const { return header_.highest - header_.highest_at_least; }

  static constexpr std::int64_t kLevel = 100'000;
  LevelError error_;
  format::RollupHeader header_{};
};

TEST_F(LevelErrorTest, ALevelLacksWhatTheNextRecordBrings) {
  pass({birth(100, 0), counters(700, 30), birth(200, 400)});
  EXPECT_EQ(header_.highest, 0) << "not before the window is dropped";
  drop();
  EXPECT_EQ(header_.highest, kLevel);
  EXPECT_EQ(too_low(), 700);
  EXPECT_EQ(too_high(), 400);
}

TEST_F(LevelErrorTest, AndWhatThoseOfAllThreadsBringTogether) {
  const RingRecord one[] = {counters(100, 0), counters(1000, 0)};
  const RingRecord other[] = {counters(20, 0), counters(5, 0)};
  error_.pass_begins(kLevel);
  error_.thread_begins(one[0]);
  error_.thread_begins(other[0]);
  error_.add_record(one[0], &one[1], kLevel);
  error_.add_record(other[0], &other[1], kLevel); // 1000 and 20, then 1000 and 5
  error_.add_record(one[1], nullptr, kLevel);
  error_.add_record(other[1], nullptr, kLevel);
  error_.pass_ends(true);
  drop();
  EXPECT_EQ(too_low(), 1020);
}

TEST_F(LevelErrorTest, InAPassItAlsoLacksWhatTheNextPassBeginsWith) {
  pass({counters(10, 0), counters(500, 0)});
  pass({counters(300, 0)});
  pass({counters(50, 0)});
  drop();
  EXPECT_EQ(too_low(), 800);
}

TEST_F(LevelErrorTest, APassOverOneThreadLeavesTheOthersMissing) {
  pass({counters(10, 0), counters(500, 0)});
  pass({counters(40, 0)}, false);
  pass({counters(60, 0)}, false);
  pass({counters(300, 0)});
  drop();
  EXPECT_EQ(too_low(), 900);
}

// Of three threads that were off their CPUs for up to three passes: their records were missing in the first.
TEST_F(LevelErrorTest, ALateRecordWasMissingInEachPassSince) {
  for (const format::Stamp stamp : {20u, 30u, 40u}) {
    RingRecord record = counters(0, 0);
    record.stamp = stamp;
    pass({record});
    record.stamp = 10;
    error_.pass_begins(kLevel);
    error_.thread_begins(record);
    error_.add_record(record, nullptr, kLevel + 100);
    error_.add_record(record, nullptr, kLevel);
    error_.pass_ends(true);
  }
  drop();
  EXPECT_EQ(header_.highest, kLevel + 100);
  EXPECT_EQ(header_.highest_at_most, kLevel + 300);
}

// The others' records came with stamps up to 50. Then these come late, from kLevel on.
TEST_F(LevelErrorTest, LateRecordsRaiseAndLowerTheLevelsBefore) {
  RingRecord record = counters(0, 0);
  record.stamp = 50;
  pass({record});
  error_.pass_begins(kLevel);
  error_.thread_begins(record);
  record.stamp = 10;
  for (const std::int64_t more : {-100, 700, 100}) error_.add_record(record, &record, kLevel + more);
  record.stamp = 60;
  error_.add_record(record, nullptr, kLevel - 5000);
  error_.pass_ends(true);
  drop();
  EXPECT_EQ(header_.highest_at_most, kLevel + 700);
  EXPECT_EQ(header_.highest_at_least, kLevel + 700) << "as it was seen, in order";
}

// A thread that was idle since before recording brings what came and went then.
TEST_F(LevelErrorTest, WhatWasOverBeforeRecordingIsNotMissing) {
  RingRecord before = counters(900'000, 899'000);
  before.flags = format::kBefore;
  pass({before});
  drop();
  EXPECT_EQ(too_low(), 1000);
  EXPECT_EQ(too_high(), 0);
}

// An error counts at its level: 30,000 lower it does not matter.
TEST_F(LevelErrorTest, AnErrorFarBelowTheHighestLevelDoesNotCount) {
  pass({counters(0, 0)});
  error_.pass_begins(kLevel - 30'000);
  error_.thread_begins(counters(9000, 9000));
  error_.add_record(counters(9000, 9000), nullptr, kLevel - 30'000);
  error_.pass_ends(true);
  drop();
  // The pass before had them waiting, too, and was at kLevel.
  EXPECT_EQ(header_.highest_at_most, kLevel + 9000);
  pass({counters(0, 0)});
  error_.pass_begins(kLevel - 30'000);
  error_.thread_begins(counters(0, 0));
  const RingRecord brings = counters(20'000, 0);
  error_.add_record(counters(0, 0), &brings, kLevel - 30'000);
  error_.add_record(brings, nullptr, kLevel - 30'000);
  error_.pass_ends(true);
  drop();
  EXPECT_EQ(header_.highest_at_most, kLevel + 9000) << "of before: 90,000 is below it";
}

} // namespace
} // namespace memtrace::rollup
