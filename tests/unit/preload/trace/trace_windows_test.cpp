// Purpose: windows begin, are used again and are kept where a level was highest; a disk that fails loses what
// it must.
#include "preload/trace/trace_windows.h"
#include "preload/blocks/recording.h"
#include "preload/format/rollup_layout.h"
#include "preload/format/window_events.h"
#include "preload/os/threads.h"
#include "preload/os/timestamp.h"
#include "preload/record/interner.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/loss_counters.h"
#include "preload/state/recorder_state.h"
#include "preload/trace/trace_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>

#include "child.h"
#include "reading.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::RingRecord;
using tests::in_child;
using tests::Scratch;

constexpr std::uint64_t kBound = 1 << 20;

bool append(std::uint64_t address, EventType type = EventType::birth, std::uint64_t given = 5000) {
  RingRecord record = tests::birth_of(address, given, draw_stamp());
  record.type = static_cast<std::uint8_t>(type);
  return ring_append(*this_thread(), record);
}

// Blocks that come and go, each somewhere else, so that records take room.
std::uint64_t churn(std::uint64_t from, std::uint64_t count) {
  std::uint64_t lost = 0;
  for (std::uint64_t i = from; i < from + count; ++i) {
    const std::uint64_t address = (i * 0x9E3779B97F4A7C15u) >> 16;
    lost += append(address, EventType::birth, 4096 + i % 997) ? 0 : 1;
    lost += append(address, EventType::death, 0) ? 0 : 1;
  }
  return lost;
}

std::uint64_t bytes_of(const Scratch& scratch) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    bytes += std::filesystem::file_size(entry);
  return bytes;
}

// By number: the file.
std::map<std::uint32_t, std::string> windows_in(const Scratch& scratch) {
  std::map<std::uint32_t, std::string> out;
  for (std::uint32_t i = 0; i < format::kWindowFiles; ++i) {
    const std::string path = scratch.file("t.window-" + std::to_string(i));
    if (!std::filesystem::exists(path)) continue;
    const auto segments = tests::read_segments(path);
    EXPECT_FALSE(segments.empty());
    if (segments.empty()) continue;
    EXPECT_EQ(segments[0].header.source, static_cast<std::uint8_t>(format::Source::snapshot));
    out[segments[0].records[0].as<format::WindowEvent>().number] = path;
    EXPECT_LE(std::filesystem::file_size(path), shares_of(kBound).window);
  }
  return out;
}

TEST(Windows, SharesFitIntoTheBound) {
  for (const std::uint64_t bound :
       {std::uint64_t{1} << 20, std::uint64_t{5'000'000}, std::uint64_t{256} << 20}) {
    const Shares shares = shares_of(bound);
    EXPECT_LE(
        shares.rings + shares.head + shares.definitions + format::kWindowFiles * shares.window + shares.rollup,
        bound);
    for (const std::uint64_t share : {shares.head, shares.definitions, shares.window, shares.rollup})
      EXPECT_EQ(share % format::kPage, 0u);
  }
}

TEST(Windows, NothingIsLostAndNoByteTooMuch) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch, kBound);
    for (std::uint64_t i = 0; i < 100; ++i) {
      EXPECT_EQ(churn(i * 1000, 1000), 0u);
      EXPECT_LE(bytes_of(scratch), kBound);
    }
    drain_rings(true);
    EXPECT_EQ(tests::lost_in_all(), 0u);
    const auto windows = windows_in(scratch);
    ASSERT_EQ(windows.size(), 4u);
    const std::uint32_t last = windows.rbegin()->first;
    EXPECT_EQ(last, current_window());
    EXPECT_GT(last, 5u);
    EXPECT_TRUE(windows.contains(last - 1)) << "the two most recent";
    // Every record is in the trace file, in a window, or was dropped with one.
    std::uint64_t kept = 0;
    for (const auto& segment : tests::read_segments(scratch.file("t.memtrace")))
      if (segment.header.source == static_cast<std::uint8_t>(format::Source::ring))
        kept += segment.records.size();
    for (const auto& [number, path] : windows)
      for (const auto& segment : tests::read_segments(path))
        if (segment.header.source == static_cast<std::uint8_t>(format::Source::ring))
          kept += segment.records.size();
    EXPECT_EQ(kept + folded.header().coarsened, 200'000u);
  });
}

// The background thread asks for it while a pass writes: when both used one buffer, segments went to the file
// of rows. 22 rings of 2,016 records were missing after 30 minutes.
TEST(Windows, PathsOfOtherFilesAreOfTheirCaller) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    Path one{}, two{};
    path_beside_trace(&one, ".window-", 3);
    path_beside_trace(&two, ".coarse");
    EXPECT_EQ(one.text(), scratch.file("t.window-3"));
    EXPECT_EQ(two.text(), scratch.file("t.coarse"));
    EXPECT_TRUE(is_beside_trace(two.text(), ".coarse"));
    EXPECT_FALSE(is_beside_trace(one.text(), ".coarse"));
    EXPECT_FALSE(is_beside_trace(scratch.file("s.coarse").c_str(), ".coarse"));
    EXPECT_FALSE(is_beside_trace("", ".coarse"));
  });
}

TEST(Windows, TheHighestLevelStays) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch, kBound);
    churn(0, 16'000);
    ASSERT_GT(current_window(), 0u);
    const std::uint32_t high = current_window();
    append(0x123450, EventType::birth, 1 << 30);
    append(0x123450, EventType::death, 0);
    drain_rings(false);
    ASSERT_EQ(current_window(), high);
    churn(16'000, 80'000);
    const auto windows = windows_in(scratch);
    ASSERT_GT(windows.rbegin()->first, high + 4);
    EXPECT_TRUE(windows.contains(high));
  });
}

TEST(Windows, WhatIsHeldGoesIntoTheSnapshot) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch, kBound);
    for (std::uint64_t i = 1; i <= 50; ++i) append(i * 16, EventType::birth, 100'000 + i);
    churn(0, 40'000);
    drain_rings(true);
    const auto windows = windows_in(scratch);
    const auto held = all_of(tests::read_segments(windows.rbegin()->second), EventType::held);
    std::set<std::uint64_t> seen;
    for (const RingRecord& record : held) {
      const auto& block = record.as<format::HeldEvent>();
      if (block.given == 100'000 + block.address / 16) seen.insert(block.address);
    }
    EXPECT_EQ(seen.size(), 50u);
  });
}

TEST(Windows, ADirectoryThatVanishesAndComesBack) {
  const Scratch scratch;
  in_child([&] {
    std::filesystem::create_directory(scratch.file("in"));
    Path trace, rings;
    trace.add(scratch.file("in/t.memtrace").c_str());
    rings.add(scratch.file("t.rings").c_str());
    ASSERT_TRUE(create_trace_file(trace, tests::kTraceId, kBound));
    ASSERT_TRUE(start_rings(rings, tests::kTraceId));
    keep_losses_in(ring_header());
    start_windows(false, 0, 0, &copy_text, &has_ring);
    enter(State::recording);
    EXPECT_EQ(churn(0, 10'000), 0u);
    drain_rings(false);
    const std::uint32_t before = current_window();
    std::filesystem::rename(scratch.file("in"), scratch.file("away"));
    const std::uint64_t lost = churn(10'000, 5'000);
    EXPECT_GT(lost, 0u);
    EXPECT_GE(ring_header()->lost[static_cast<std::size_t>(format::Loss::disk)], lost)
        << "counted, by its reason";
    std::filesystem::rename(scratch.file("away"), scratch.file("in"));
    os::sleep_ns(1'100'000'000);
    EXPECT_EQ(churn(15'000, 20'000), 0u);
    EXPECT_GT(current_window(), before);
  });
}

} // namespace
} // namespace memtrace::record
