// Purpose: a trace that grows is followed to the same phase and step as one that is read whole.
#include "analyzer/watch/followed_marks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "builder.h"
#include "window_files.h"

namespace memtrace::watch {
namespace {

using tests::Builder;

class Growing : public testing::Test {
 protected:
  report::TraceName name() const { return {scratch_.file("h-7-1.memtrace"), "h-7-1", "h", 7, 1}; }
  void append(const std::string& bytes) {
    std::ofstream(name().path, std::ios::app | std::ios::binary) << bytes;
  }
  void append(std::uint32_t thread) {
    append(builder_.definitions());
    append(builder_.segment(thread, done_, builder_.records(thread).size() - done_));
    done_ = builder_.records(thread).size();
  }
  // The recorder makes the file anew. `open`: the phase that is open when the window begins.
  void write_window(std::uint32_t place, std::uint32_t number, const std::string& open) {
    const std::string path = scratch_.file("h-7-1.window-" + std::to_string(place));
    std::filesystem::remove(path);
    const auto step_plus_1 = number * 10 + 1;
    tests::write_file(
        path,
        tests::snapshot(
            {tests::record_of(format::EventType::window, 0, 0, {format::halves(number, step_plus_1)}),
             tests::record_of(format::EventType::open_phase, 0, 0,
                              {format::halves(0, builder_.text(open)), format::halves(0, step_plus_1)})}));
    append_to_window(place);
  }
  void append_to_window(std::uint32_t place) {
    std::ofstream(scratch_.file("h-7-1.window-" + std::to_string(place)), std::ios::app | std::ios::binary)
        << builder_.segment(0, done_, builder_.records(0).size() - done_);
    done_ = builder_.records(0).size();
  }
  static std::int64_t number(replay::Step step) { return static_cast<std::int64_t>(step); }

  tests::Scratch scratch_;
  Builder builder_;
  std::size_t done_ = 0;
};

TEST_F(Growing, PhaseAndStepAreThoseOfTheLastRecords) {
  FollowedMarks follower(name());
  follower.update();
  EXPECT_EQ(follower.phase(), "") << "there is no file yet";
  builder_.begin("load").birth(0x1000, 8192);
  append(0);
  follower.update();
  EXPECT_EQ(follower.phase(), "load");
  EXPECT_EQ(follower.step(), replay::Step::none);
  builder_.end("load");
  for (int step = 0; step < 5; ++step) {
    builder_.begin("forward").birth(0x10000 + 0x1000 * step, 4096).end("forward");
    builder_.begin("backward").end("backward").begin("step").end("step");
  }
  builder_.begin("forward");
  append(0);
  follower.update();
  EXPECT_EQ(follower.phase(), "forward");
  EXPECT_EQ(number(follower.step()), 5);
}

// Before the first optimizer step, each forward looks like a step: the steps are counted again.
TEST_F(Growing, StepsOfAccumulatedGradientsAreCountedAgain) {
  FollowedMarks follower(name());
  for (int micro = 0; micro < 4; ++micro) builder_.begin("forward").end("forward");
  append(0);
  follower.update();
  builder_.begin("step").end("step").begin("forward");
  append(0);
  follower.update();
  EXPECT_EQ(number(follower.step()), 1);
}

TEST_F(Growing, ATornSegmentIsReadWhenItIsWhole) {
  FollowedMarks follower(name());
  builder_.begin("load");
  append(0);
  builder_.begin("forward");
  const std::string definitions = builder_.definitions();
  const std::string segment = builder_.segment(0, done_, builder_.records(0).size() - done_);
  append(definitions + segment.substr(0, segment.size() / 2));
  follower.update();
  EXPECT_EQ(follower.phase(), "load");
  append(segment.substr(segment.size() / 2));
  follower.update();
  EXPECT_EQ(follower.phase(), "forward");
}

TEST_F(Growing, WindowsAreReadInTheirOrder) {
  FollowedMarks follower(name());
  for (const char* const text : {"a", "b", "c"}) builder_.text(text);
  builder_.begin("a", 0);
  append(0);
  follower.update();
  EXPECT_EQ(follower.phase(), "a");
  builder_.begin("b", 0);
  write_window(1, 1, "a");
  follower.update();
  EXPECT_EQ(follower.phase(), "b");
  EXPECT_EQ(number(follower.step()), 10);
  builder_.end("b").begin("c", 0); // the end of the first window comes at the same time as the next window
  append_to_window(1);
  builder_.end("c");
  write_window(0, 2, "c");
  builder_.begin("b", 0);
  append_to_window(0);
  follower.update();
  EXPECT_EQ(follower.phase(), "b");
  EXPECT_EQ(number(follower.step()), 20);
}

// The files of windows that were copied have no times that tell their order.
TEST_F(Growing, TheNewestWindowIsThatOfTheHighestNumber) {
  for (const char* const text : {"old", "new"}) builder_.text(text);
  append(0);
  write_window(1, 6, "new");
  write_window(0, 5, "old");
  FollowedMarks follower(name());
  follower.update();
  EXPECT_EQ(follower.phase(), "new");
  EXPECT_EQ(number(follower.step()), 60);
}

TEST_F(Growing, AResetBeginsTheStepsAgain) {
  FollowedMarks follower(name());
  builder_.begin("step").end("step").begin("forward");
  append(0);
  follower.update();
  EXPECT_EQ(number(follower.step()), 1);
  builder_.put(format::EventType::reset, 0, 0, {});
  append(0);
  follower.update();
  EXPECT_EQ(follower.step(), replay::Step::none);
  EXPECT_EQ(follower.phase(), "");
}

// As init_process_group says it, for a process whose environment has no rank.
TEST_F(Growing, RankFromTheNotes) {
  builder_.note("rank=3").note("world-size=8");
  append(0);
  FollowedMarks follower(name());
  follower.update();
  EXPECT_EQ(follower.rank(), 3u);
}

TEST_F(Growing, RankAndDevices) {
  builder_.rank(3, 8);
  builder_.put(format::EventType::sample_device, 0, 2 << format::kMemoryShift, {1000, 1500, 2000, 500, 0, 1});
  append(0);
  FollowedMarks follower(name());
  follower.update();
  EXPECT_EQ(follower.rank(), 3u);
  ASSERT_EQ(follower.devices().size(), 1u);
  EXPECT_EQ(follower.devices().at(1).used, 1500u);
  EXPECT_EQ(follower.devices().at(1).total, 2000u);
}

TEST_F(Growing, TheHeaderIsThatOfItsOwnRings) {
  builder_.begin("load");
  append(0);
  FollowedMarks follower(name());
  follower.update();
  EXPECT_FALSE(follower.header());
  tests::write_file(scratch_.file("h-7-1.rings"), tests::ring_file({}, {{format::Loss::disk, 5}}));
  ASSERT_TRUE(follower.header());
  EXPECT_EQ(follower.header()->lost[static_cast<std::size_t>(format::Loss::disk)], 5u);
  tests::write_file(scratch_.file("h-7-1.rings"), tests::ring_file({}, {}, 99));
  EXPECT_FALSE(follower.header()) << "of another trace";
  tests::write_file(scratch_.file("h-7-1.rings"), "short");
  EXPECT_FALSE(follower.header());
}

} // namespace
} // namespace memtrace::watch
