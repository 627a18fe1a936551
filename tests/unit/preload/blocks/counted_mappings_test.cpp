// Purpose: the rough level of mappings.
#include "preload/blocks/counted_mappings.h"

#include <gtest/gtest.h>

#include "child.h"

namespace memtrace::record {
namespace {

using tests::in_child;
constexpr std::uint64_t kBase = 0x7F0000000000;

TEST(MapLevels, OnAndOff) {
  in_child([] {
    EXPECT_EQ(count_mapping(kBase, 8192), 8192);
    EXPECT_EQ(uncount_mapping(kBase, 4096), 0) << "a part";
    EXPECT_EQ(uncount_mapping(kBase + 4096, 8192), 0) << "another address";
    EXPECT_EQ(uncount_mapping(kBase, 8192), 8192);
    EXPECT_EQ(uncount_mapping(kBase, 8192), 0) << "twice";
  });
}

TEST(MapLevels, AnAddressUsedAgain) {
  in_child([] {
    EXPECT_EQ(count_mapping(kBase, 8192), 8192);
    EXPECT_EQ(count_mapping(kBase, 4096), -4096);
    EXPECT_EQ(uncount_mapping(kBase, 8192), 0);
    EXPECT_EQ(uncount_mapping(kBase, 4096), 4096);
  });
}

TEST(MapLevels, FullForgetsButNeverDrifts) {
  in_child([] {
    std::int64_t level = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) level += count_mapping(kBase + i * 4096, 4096);
    EXPECT_GT(level, 3000 * 4096);
    EXPECT_LE(level, 4096 * 4096);
    for (std::uint64_t i = 0; i < 20'000; ++i) level -= uncount_mapping(kBase + i * 4096, 4096);
    EXPECT_EQ(level, 0);
    EXPECT_EQ(count_mapping(kBase, 4096), 4096) << "there is room again";
  });
}

TEST(MapLevels, ARemovedNeighbourHidesNothing) {
  in_child([] {
    // Taking out each second one leaves holes in the runs of probes, before others that must still be found.
    std::int64_t level = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) level += count_mapping(kBase + i * 4096, 4096);
    for (std::uint64_t i = 0; i < 3000; i += 2) level -= uncount_mapping(kBase + i * 4096, 4096);
    for (std::uint64_t i = 1; i < 3000; i += 2) level -= uncount_mapping(kBase + i * 4096, 4096);
    EXPECT_EQ(level, 0);
  });
}

} // namespace
} // namespace memtrace::record
