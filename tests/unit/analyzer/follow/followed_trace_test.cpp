// Purpose: a trace that is read bit by bit gives the events and levels of one that is read as a whole.
#include "analyzer/follow/followed_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "analyzer/replay/replay.h"
#include "builder.h"
#include "preload/format/predictor.h"
#include "preload/trace/record_encoder.h"
#include "tests/unit/sizes.h"
#include "window_files.h"

namespace memtrace::trace {
namespace {

using tests::Builder;
using tests::kMiB;

constexpr format::Stamp kEvery = ~format::Stamp{0};

class Silent : public replay::Observer {};

// One thread's records as segments whose coding continues, as the recorder writes them.
class Coded {
 public:
  explicit Coded(std::vector<format::RingRecord> records) : records_(std::move(records)) { model_.restart(); }

  std::string next(std::size_t count) {
    std::vector<std::uint8_t> payload((count + 1) * format::kMaxCoded);
    record::Encoder encoder(payload.data(), payload.size(), model_);
    for (std::size_t i = 0; i < count; ++i) encoder.add(records_[done_ + i]);
    const format::SegmentHeader header = encoder.header(Builder::kTraceId, 0, format::Source::ring, done_);
    done_ += count;
    std::string out(reinterpret_cast<const char*>(&header), sizeof header);
    return out.append(reinterpret_cast<const char*>(payload.data()), encoder.bytes());
  }
  // The ring file while the records from `done_` to `until` are only in the ring.
  std::string ring(std::size_t until, format::SmallTotals small = {}) const {
    const auto at = [this](std::size_t i) { return records_.begin() + static_cast<std::ptrdiff_t>(i); };
    return tests::ring_file({{0, done_, {at(done_), at(until)}, small}});
  }

 private:
  std::vector<format::RingRecord> records_;
  format::Model model_;
  std::size_t done_ = 0;
};

class Followed : public testing::Test {
 protected:
  void write(const std::string& text) {
    written_ += text;
    tests::write_file(path(), written_);
  }
  void write_ring(const std::string& bytes) { tests::write_file(scratch_.file("t.rings"), bytes); }
  std::string path() const { return scratch_.file("t.memtrace"); }
  std::string window(std::uint32_t place) const { return scratch_.file("t.window-" + std::to_string(place)); }
  // As the recorder does: a window is a file made anew, and grows.
  void write_window(std::uint32_t place, const std::string& bytes) {
    std::filesystem::remove(window(place));
    tests::write_file(window(place), bytes);
  }
  void append_to_window(std::uint32_t place, const std::string& bytes) {
    tests::write_file(window(place), tests::read_file(window(place)) + bytes);
  }

  void begin() {
    trace_ = std::make_unique<FollowedTrace>(path());
    replay_ = std::make_unique<replay::FollowedReplay>(trace_->definitions(), trace_->facts(), silent_);
  }
  bool refresh(format::Stamp until = kEvery) {
    return trace_->refresh(until, [this](std::span<const Event> events) { replay_->take(events); });
  }
  std::int64_t live() const { return replay_->ledger().level(0).live; }

  tests::Scratch scratch_;
  std::string written_;
  Silent silent_;
  std::unique_ptr<FollowedTrace> trace_;
  std::unique_ptr<replay::FollowedReplay> replay_;
};

// Blocks of 1, 2, 3 ... MiB, of which every second one dies.
Builder blocks(std::size_t count) {
  Builder builder;
  for (std::uint64_t i = 1; i <= count; ++i) {
    builder.birth(i << 32, i * kMiB);
    if (i % 2 == 0) builder.death(i << 32);
  }
  return builder;
}

std::int64_t live_at_end(const std::string& path) {
  const Trace trace(path);
  replay::Replay replay(trace);
  Silent silent;
  replay.run(silent);
  return replay.ledger().level(0).live;
}

TEST_F(Followed, SegmentsThatComeLaterAreReadOnce) {
  Builder builder = blocks(40);
  Coded coded(builder.records(0));
  write(builder.definitions() + coded.next(10));
  begin();
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 10u);
  for (int i = 0; i < 5; ++i) {
    write(coded.next(10));
    EXPECT_TRUE(refresh());
    EXPECT_EQ(trace_->events(), 20u + 10u * static_cast<unsigned>(i));
    EXPECT_EQ(live(), live_at_end(path()));
  }
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 60u);
}

// The records of a ring are given before they are in a segment, and not again from there.
TEST_F(Followed, RingsAreReadBeforeTheirSegments) {
  Builder builder = blocks(40);
  Coded coded(builder.records(0));
  write(builder.definitions() + coded.next(10));
  write_ring(coded.ring(17));
  begin();
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 17u);
  EXPECT_EQ(live(), live_at_end(path()));
  write(coded.next(15));
  write_ring(coded.ring(33));
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 33u);
  EXPECT_EQ(live(), live_at_end(path()));
  write(coded.next(8));
  write(coded.next(15));
  write_ring(coded.ring(48));
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 48u);
  EXPECT_EQ(live(), live_at_end(path()));
}

// Small blocks after the last record are in the totals of the slot alone.
TEST_F(Followed, FlowsWithoutARecordAreNotCountedTwice) {
  Builder builder;
  builder.birth(1 << 20, kMiB).birth(2 << 20, kMiB, format::Kind::heap, 0, 0, 0, {5000, 1000, 5, 1});
  Coded coded(builder.records(0));
  write(builder.definitions() + coded.next(1));
  write_ring(coded.ring(1, {5000, 1000, 5, 1}));
  begin();
  EXPECT_TRUE(refresh());
  EXPECT_EQ(live(), static_cast<std::int64_t>(kMiB));
  EXPECT_EQ(trace_->not_carried().allocated, 5000u);
  EXPECT_EQ(trace_->not_carried().freed, 1000u);
  EXPECT_EQ(live() + 4000, live_at_end(path()));
  write(coded.next(1));
  write_ring(coded.ring(2, {5000, 1000, 5, 1}));
  EXPECT_TRUE(refresh());
  EXPECT_EQ(live(), static_cast<std::int64_t>(2 * kMiB + 4000));
  EXPECT_EQ(trace_->not_carried().allocated, 0u);
}

// Thread 1 frees a block of thread 0 whose record comes with the next refresh.
TEST_F(Followed, EventsAfterTheStampWait) {
  Builder builder;
  builder.on(0).birth(1 << 20, kMiB);
  const format::Stamp until = builder.now();
  builder.birth(2 << 20, kMiB).on(1).death(2 << 20);
  write(builder.definitions() + builder.segment(0, 0, 1) + builder.segment(1, 0, 1));
  begin();
  EXPECT_TRUE(refresh(until));
  EXPECT_EQ(live(), static_cast<std::int64_t>(kMiB));
  write(builder.segment(0, 1, 1));
  EXPECT_TRUE(refresh());
  EXPECT_EQ(live(), static_cast<std::int64_t>(kMiB));
  EXPECT_EQ(replay_->ledger().unknown_deaths(), 0u);
}

TEST_F(Followed, MissingRecordsAskForANewBegin) {
  Builder builder = blocks(40);
  write(builder.definitions() + builder.segment(0, 0, 10));
  begin();
  EXPECT_TRUE(refresh());
  write(builder.segment(0, 20, 10));
  EXPECT_FALSE(refresh());
}

// A user's step() decides how steps are counted, also of those before it.
TEST_F(Followed, OtherRulesForStepsAskForANewBegin) {
  Builder builder;
  builder.begin("forward").end("forward").begin("step").end("step").step(5);
  write(builder.definitions() + builder.segment(0, 0, 4));
  begin();
  EXPECT_TRUE(refresh());
  write(builder.segment(0, 4, 1));
  EXPECT_FALSE(refresh());
  begin();
  EXPECT_TRUE(refresh());
  EXPECT_EQ(static_cast<std::int64_t>(replay_->phases().step()), 5);
}

TEST_F(Followed, FactsComeLate) {
  Builder builder;
  builder.birth(1 << 20, kMiB).exit(3);
  write(builder.definitions() + builder.segment(0, 0, 1));
  begin();
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->facts().pid, 4242u);
  EXPECT_FALSE(trace_->facts().end);
  write(builder.segment(0, 1, 1));
  EXPECT_TRUE(refresh());
  ASSERT_TRUE(trace_->facts().end);
  EXPECT_EQ(trace_->facts().end->code, 3u);
}

// The snapshot of a window with this number, and the levels that it has.
std::string state(std::uint32_t number, std::uint64_t live) {
  return tests::snapshot({tests::record_of(format::EventType::window, 0, 0, {format::halves(number, 0)}),
                          tests::record_of(format::EventType::level, 0, 0, {live, 0})});
}

TEST_F(Followed, WindowsAreReadOnInTheirOrder) {
  Builder builder = blocks(40);
  write(builder.definitions() + builder.segment(0, 0, 10));
  begin();
  EXPECT_TRUE(refresh());
  write_window(3, state(1, 0) + builder.segment(0, 10, 10));
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 20u);
  append_to_window(3, builder.segment(0, 20, 5));
  write_window(0, state(2, 0) + builder.segment(0, 25, 10)); // windows use their files in any order
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 35u);
  EXPECT_EQ(live(), live_at_end(path()));
  write_window(3, state(3, 0) + builder.segment(0, 35, 10));
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 45u);
  EXPECT_EQ(live(), static_cast<std::int64_t>(225 * kMiB)) << "the odd ones of the first 30 blocks";
  write_window(3, state(9, 0) + builder.segment(0, 50, 5)); // some windows came and went
  EXPECT_FALSE(refresh());
}

TEST_F(Followed, ItBeginsWithTheLastWindowButOne) {
  Builder builder = blocks(40);
  write(builder.definitions() + builder.segment(0, 0, 10));
  write_window(2, state(4, 0) + builder.segment(0, 20, 5));
  write_window(0, state(7, 1000 * kMiB) + builder.segment(0, 30, 5));
  write_window(1, state(8, 0) + builder.segment(0, 35, 5));
  begin();
  EXPECT_TRUE(trace_->begins_later());
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 10u);
  EXPECT_EQ(live(), live_at_end(path()));
  EXPECT_GE(live(), static_cast<std::int64_t>(1000 * kMiB));
}

// A segment is written in parts. The process may write more while the first part is there.
TEST_F(Followed, ATornEndIsReadWhenItIsWhole) {
  Builder builder = blocks(40);
  const std::string torn = builder.segment(0, 10, 10);
  write(builder.definitions() + builder.segment(0, 0, 10) + torn.substr(0, torn.size() / 2));
  begin();
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 10u);
  write(torn.substr(torn.size() / 2));
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 20u);
}

// On a file system that is shared, the rings are on another one.
TEST_F(Followed, FactsOfRingsElsewhereAreKnownAtOnce) {
  const std::string elsewhere = scratch_.file("elsewhere");
  Builder builder;
  builder.note("rings=" + elsewhere).begin("step").end("step");
  Coded coded(builder.records(0));
  write(builder.definitions() + coded.next(1));
  tests::write_file(elsewhere, coded.ring(3));
  begin();
  EXPECT_TRUE(trace_->facts().step_phases);
  EXPECT_TRUE(refresh());
  EXPECT_EQ(trace_->events(), 3u);
  EXPECT_EQ(static_cast<std::int64_t>(replay_->phases().step()), 0);
}

} // namespace
} // namespace memtrace::trace
