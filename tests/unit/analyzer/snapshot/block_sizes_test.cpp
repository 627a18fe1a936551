// Purpose: sizes of PyTorch's blocks by its rules for rounding and splitting, by hand.
#include "analyzer/snapshot/block_sizes.h"

#include <gtest/gtest.h>

#include "tests/unit/sizes.h"

namespace memtrace::snapshot {
namespace {

using tests::kMiB;
constexpr std::uint64_t kKiB = 1024, kNoLimit = ~std::uint64_t{0};

TEST(BlockSizes, RoundsUp) {
  EXPECT_EQ(rounded_request(0), 512u);
  EXPECT_EQ(rounded_request(1), 512u);
  EXPECT_EQ(rounded_request(512), 512u);
  EXPECT_EQ(rounded_request(513), 1024u);
  EXPECT_EQ(rounded_request(kNoLimit), kNoLimit);
}

TEST(BlockSizes, OfASmallSegmentIsSplitAlways) {
  BlockSizes sizes(kNoLimit);
  sizes.segment(100 * kMiB, 2 * kMiB);
  EXPECT_EQ(sizes.of(100 * kMiB, 700), 1024u);
  sizes.used(100 * kMiB + 1536, 512);
  EXPECT_EQ(sizes.of(100 * kMiB, 700), 1024u); // leaves one block of 512
}

TEST(BlockSizes, OfALargeSegmentTakesARestThatIsTooSmall) {
  BlockSizes sizes(kNoLimit);
  sizes.segment(100 * kMiB, 20 * kMiB);
  EXPECT_EQ(sizes.of(100 * kMiB, 19 * kMiB), 20 * kMiB); // 1 MiB is too small
  EXPECT_EQ(sizes.of(100 * kMiB, 19 * kMiB - 512), 19 * kMiB - 512);
  sizes.used(110 * kMiB, 5 * kMiB);
  EXPECT_EQ(sizes.of(100 * kMiB, 9 * kMiB + 300 * kKiB), 10 * kMiB);
  EXPECT_EQ(sizes.of(115 * kMiB, 4 * kMiB + 1), 5 * kMiB); // after the used one
  sizes.free_again(110 * kMiB);
  EXPECT_EQ(sizes.of(100 * kMiB, 9 * kMiB + 300 * kKiB), 9 * kMiB + 300 * kKiB);
}

TEST(BlockSizes, OfTheSizeThatIsNotSplitTakesAll) {
  BlockSizes sizes(10 * kMiB);
  sizes.segment(100 * kMiB, 20 * kMiB);
  EXPECT_EQ(sizes.of(100 * kMiB, 10 * kMiB), 20 * kMiB);
  EXPECT_EQ(sizes.of(100 * kMiB, 10 * kMiB - 512), 10 * kMiB - 512);
}

TEST(BlockSizes, OutsideOfSegmentsAreRounded) {
  BlockSizes sizes(kNoLimit);
  EXPECT_EQ(sizes.of(1, 700), 1024u);
  sizes.segment(100 * kMiB, 20 * kMiB);
  EXPECT_EQ(sizes.of(1, 700), 1024u);
  EXPECT_EQ(sizes.of(300 * kMiB, 19 * kMiB), 19 * kMiB);
  EXPECT_EQ(sizes.of(100 * kMiB, 30 * kMiB), 30 * kMiB); // more than the segment has
  sizes.segment_gone(100 * kMiB);
  EXPECT_EQ(sizes.of(100 * kMiB, 19 * kMiB), 19 * kMiB);
}

} // namespace
} // namespace memtrace::snapshot
