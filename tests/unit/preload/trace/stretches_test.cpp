// Purpose: a keyframe has the state at its place in the file, and the end of a stretch its highest levels.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "child.h"
#include "preload/format/window_events.h"
#include "preload/os/timestamp.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/trace/trace_file.h"
#include "preload/trace/trace_windows.h"
#include "reading.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::RingRecord;
using format::Source;
using tests::in_child;
using tests::Scratch;

constexpr std::uint64_t kStretch = 64 * 1024; // a keyframe of it lists 85 blocks

void put(std::uint64_t address, EventType type, std::uint64_t given) {
  RingRecord record = tests::birth_of(address, given, draw_stamp());
  record.type = static_cast<std::uint8_t>(type);
  EXPECT_TRUE(ring_append(*this_thread(), record));
}

// Blocks that come and go, above 50 that stay. Their sum rises and falls.
void come_and_go(std::uint64_t rounds) {
  for (std::uint64_t i = 1; i <= 50; ++i) put(i * 16, EventType::birth, 100'000 + i);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::uint64_t address = (i * 0x9E3779B97F4A7C15u) >> 16;
    put(address, EventType::birth, 4096 + i * i % 9973);
    put(address, EventType::death, 0);
  }
}

// The state by the records of the file alone.
struct KnownState {
  std::map<std::uint64_t, std::uint64_t> alive; // bytes by address
  std::int64_t level = 0, highest = 0;

  void take(const RingRecord& record) {
    const auto block = record.as<format::BirthEvent>();
    if (tests::is(record, EventType::birth)) {
      alive[block.address] = block.given;
      level += static_cast<std::int64_t>(block.given);
    } else if (tests::is(record, EventType::death)) {
      level -= static_cast<std::int64_t>(alive[block.address]);
      alive.erase(block.address);
    }
    highest = std::max(highest, level);
  }
};

struct Compared {
  std::size_t keyframes = 0, ends = 0;
};

// Compares each keyframe of a file with the records before it.
Compared compare(const std::string& path, KnownState& known) {
  Compared found;
  std::map<std::uint64_t, std::uint64_t> held;
  bool begins = false;
  for (const tests::Segment& segment : tests::read_segments(path)) {
    const auto source = static_cast<Source>(segment.header.source);
    if (source == Source::ring) {
      EXPECT_FALSE(begins && (segment.header.flags & format::kContinues) != 0) << "coding goes on";
      begins = false;
      for (const RingRecord& record : segment.records) known.take(record);
    }
    if (source != Source::keyframe) continue;
    if (segment.header.types == std::uint64_t{1} << static_cast<unsigned>(EventType::level)) {
      EXPECT_EQ(segment.records[0].as<format::LevelEvent>().live, known.highest);
      known.highest = known.level;
      ++found.ends;
      continue;
    }
    if (segment.header.first_sequence == 0) held.clear();
    for (const RingRecord& record : segment.records) {
      const auto block = record.as<format::HeldEvent>();
      if (tests::is(record, EventType::held)) held[block.address] = block.given;
      if (!tests::is(record, EventType::level)) continue;
      EXPECT_EQ(record.as<format::LevelEvent>().live, known.level);
    }
    if ((segment.header.flags & format::kWhole) == 0) continue;
    EXPECT_EQ(held, known.alive);
    begins = true;
    ++found.keyframes;
  }
  return found;
}

TEST(Stretches, EachBeginsWithTheStateAndEndsWithItsHighestLevel) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch, 16 << 20);
    trace_file.shares.stretch = kStretch;
    come_and_go(20'000);
    drain_rings(true);
    ASSERT_EQ(current_window(), 0u);
    KnownState known;
    const Compared found = compare(scratch.file("t.memtrace"), known);
    EXPECT_GT(found.keyframes, 3u);
    EXPECT_EQ(found.ends, found.keyframes);
    EXPECT_EQ(current_stretch(), found.keyframes);
    EXPECT_TRUE(std::filesystem::exists(scratch.file("t.coarse"))) << "rows of what a reader leaves out";
    EXPECT_EQ(tests::lost_in_all(), 0u);
  });
}

// Returns the whole keyframes of a file.
std::size_t keyframes_in(const std::string& path) {
  const std::vector<tests::Segment> segments = tests::read_segments(path);
  return static_cast<std::size_t>(
      std::count_if(segments.begin(), segments.end(), [](const tests::Segment& one) {
        return one.header.source == static_cast<std::uint8_t>(Source::keyframe) &&
               (one.header.flags & format::kWhole) != 0;
      }));
}

TEST(Stretches, OfWindowsStayWithinTheirBound) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch, 1 << 20);
    trace_file.shares.stretch = kStretch / 2;
    come_and_go(60'000);
    drain_rings(true);
    EXPECT_GT(current_window(), 4u);
    EXPECT_EQ(tests::lost_in_all(), 0u);
    EXPECT_LE(std::filesystem::file_size(scratch.file("t.memtrace")),
              trace_file.shares.head + trace_file.shares.definitions);
    EXPECT_GT(keyframes_in(scratch.file("t.memtrace")), 0u);
    std::size_t in_windows = 0;
    for (std::uint32_t i = 0; i < format::kWindowFiles; ++i) {
      const std::string path = scratch.file("t.window-" + std::to_string(i));
      EXPECT_LE(std::filesystem::file_size(path), trace_file.shares.window);
      in_windows += keyframes_in(path);
    }
    EXPECT_GE(in_windows, format::kWindowFiles - 1) << "all but the last, which may have just begun";
  });
}

TEST(Stretches, AFileOfUsualSizeHasNone) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch, 16 << 20);
    EXPECT_LE(shares_of(256 << 20).head, trace_file.shares.stretch) << "the default bound";
    come_and_go(20'000);
    drain_rings(true);
    EXPECT_EQ(keyframes_in(scratch.file("t.memtrace")), 0u);
    EXPECT_FALSE(std::filesystem::exists(scratch.file("t.coarse")));
  });
}

} // namespace
} // namespace memtrace::record
