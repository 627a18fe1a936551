// Purpose: what a device held before its history, from histories made by hand.
#include "analyzer/snapshot/before_history.h"

#include <gtest/gtest.h>

namespace memtrace::snapshot {
namespace {

TorchEvent event(TorchAction action, std::uint64_t address, std::uint64_t bytes) {
  TorchEvent out;
  out.action = action;
  out.address = address;
  out.bytes = bytes;
  return out;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges(const PageRanges& pages) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  for (const auto& [from, range] : pages.all()) out.emplace_back(from, range.to);
  return out;
}

TEST(BeforeHistory, WithoutEventsIsTheSnapshot) {
  SnapshotAllocator device;
  device.blocks = {{512, 1024, 600, {}}};
  device.segments = {{512, 4096, false, {}}, {8192, 2048, true, {}}};
  const BeforeHistory before = before_history(device);
  ASSERT_EQ(before.blocks.size(), 1u);
  EXPECT_EQ(before.blocks[0].bytes, 1024u);
  ASSERT_EQ(before.segments.size(), 1u);
  EXPECT_EQ(before.segments[0].address, 512u);
  EXPECT_EQ(ranges(before.pages), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{8192, 10240}}));
}

TEST(BeforeHistory, HasWhatTheHistoryFreesAndNotWhatItAllocates) {
  SnapshotAllocator device;
  device.blocks = {{100, 1024, 600, {}}, {200, 512, 500, {}}};
  device.segments = {{100, 4096, false, {}}};
  device.events = {event(TorchAction::free_requested, 300, 700), event(TorchAction::free_completed, 300, 700),
                   event(TorchAction::segment_free, 300, 2048),  event(TorchAction::segment_alloc, 100, 4096),
                   event(TorchAction::alloc, 100, 600),          event(TorchAction::alloc, 400, 50),
                   event(TorchAction::free_requested, 400, 50)};
  const BeforeHistory before = before_history(device);
  ASSERT_EQ(before.blocks.size(), 2u);
  EXPECT_EQ(before.blocks[0].address, 200u); // alive at the snapshot
  EXPECT_EQ(before.blocks[0].bytes, 512u);
  EXPECT_EQ(before.blocks[1].address, 300u); // freed
  EXPECT_EQ(before.blocks[1].bytes, 0u);
  EXPECT_EQ(before.blocks[1].requested, 700u);
  ASSERT_EQ(before.segments.size(), 1u);
  EXPECT_EQ(before.segments[0].address, 300u);
  EXPECT_EQ(before.sizes[4], 1024u); // as the snapshot has it
  EXPECT_EQ(before.sizes[5], 0u);
}

TEST(BeforeHistory, PagesAreMappedPieceByPiece) {
  SnapshotAllocator device;
  device.segments = {{100, 300, true, {}}};
  device.events = {event(TorchAction::segment_map, 200, 100), event(TorchAction::segment_unmap, 500, 50)};
  EXPECT_EQ(ranges(before_history(device).pages),
            (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{100, 200}, {300, 400}, {500, 550}}));
}

TEST(BeforeHistory, AFreeWithoutAnAllocationBeforeALaterLifeDoesNotEndIt) {
  SnapshotAllocator device;
  device.blocks = {{100, 1024, 600, {}}}; // its allocation is missing
  device.events = {event(TorchAction::free_requested, 100, 300)};
  const BeforeHistory before = before_history(device);
  ASSERT_EQ(before.blocks.size(), 1u);
  EXPECT_EQ(before.blocks[0].bytes, 1024u);
}

TEST(PageRanges, RemovesParts) {
  PageRanges pages;
  pages.add({100, 400, {}});
  std::vector<std::uint64_t> gone, left;
  pages.remove(
      200, 300, [&](const PageRange& range) { gone.push_back(range.from); },
      [&](const PageRange& range) { left.push_back(range.from); });
  EXPECT_EQ(gone, (std::vector<std::uint64_t>{100}));
  EXPECT_EQ(left, (std::vector<std::uint64_t>{100, 300}));
  pages.remove(150, 350);
  EXPECT_EQ(ranges(pages), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{100, 150}, {350, 400}}));
  pages.remove(0, 1000);
  EXPECT_TRUE(pages.all().empty());
}

} // namespace
} // namespace memtrace::snapshot
