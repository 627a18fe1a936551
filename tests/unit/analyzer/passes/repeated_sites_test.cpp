// Purpose: the site that begins the cycles is found where a program repeats itself, and only there.
#include "analyzer/passes/repeated_sites.h"

#include <gtest/gtest.h>

namespace memtrace::replay {
namespace {

constexpr std::uint64_t kBig = 1 << 20;
constexpr bool kPython = true;

// Sites of the programs below.
enum : std::uint64_t { kSetup = 100, kEpoch, kBatch, kLayer, kSave, kKept, kNative, kEnd };

TEST(RepeatedSites, OfALoop) {
  RepeatedSites sites;
  sites.born(kSetup, 30 * kBig, kPython);
  for (int i = 0; i < 20; ++i) {
    sites.born(kBatch, kBig, kPython);
    for (int layer = 0; layer < 3; ++layer) sites.born(kLayer, kBig / 4, kPython);
    sites.born(kKept, kBig / 8, kPython);
  }
  EXPECT_EQ(sites.anchor(), kBatch) << "the first site of the cycle, though kKept recurs as often";
}

TEST(RepeatedSites, OfFewCyclesAreNone) {
  for (const int cycles : {3, 11, 12}) {
    RepeatedSites sites;
    for (int i = 0; i < cycles; ++i) sites.born(kBatch, kBig, kPython), sites.born(kKept, kBig, kPython);
    EXPECT_EQ(sites.anchor().has_value(), cycles >= 12) << cycles;
  }
}

// The distances have no pattern: site k comes after 1, 9, 2, 31, ... other births.
TEST(RepeatedSites, OfAnIrregularProgramAreNone) {
  RepeatedSites sites;
  std::uint32_t random = 12345;
  for (int i = 0; i < 4000; ++i) {
    random = random * 1664525 + 1013904223;
    sites.born(random >> 24, (random >> 8 & 0xff) * 4096, kPython); // 256 sites, each about 16 times
  }
  EXPECT_EQ(sites.anchor(), std::nullopt);
}

// An epoch only shuffles, and a checkpoint comes each tenth batch: the cycle is the batch, not one of its
// layers.
TEST(RepeatedSites, OfNestedLoopsAreTheOutermostThatAllocates) {
  RepeatedSites sites;
  int batches = 0;
  for (int epoch = 0; epoch < 20; ++epoch) {
    sites.born(kEpoch, 8192, kPython);
    for (int batch = 0; batch < 50; ++batch) {
      sites.born(kBatch, kBig, kPython);
      for (int layer = 0; layer < 12; ++layer) sites.born(kLayer, kBig / 2, kPython);
      if (++batches % 50 == 0) sites.born(kSave, 4 * kBig, kPython);
    }
  }
  EXPECT_EQ(sites.anchor(), kBatch);
}

TEST(RepeatedSites, OfNestedLoopsAreEpochsIfTheseAllocate) {
  RepeatedSites sites;
  for (int epoch = 0; epoch < 20; ++epoch) {
    sites.born(kEpoch, 16 * kBig, kPython);
    for (int batch = 0; batch < 50; ++batch) sites.born(kBatch, kBig, kPython);
  }
  EXPECT_EQ(sites.anchor(), kEpoch);
}

// Each cycle allocates 5 % more than the one before: 600 times as much in the last one.
TEST(RepeatedSites, OfCyclesThatDrift) {
  RepeatedSites sites;
  double bytes = kBig;
  for (int i = 0; i < 130; ++i, bytes *= 1.05) {
    sites.born(kBatch, static_cast<std::uint64_t>(bytes), kPython);
    sites.born(kKept, static_cast<std::uint64_t>(bytes), kPython);
  }
  EXPECT_EQ(sites.anchor(), kBatch);
}

// A loop that reads, and then another job with what it read.
TEST(RepeatedSites, OfALoopThatEndsBeforeTheProgramAreNone) {
  RepeatedSites sites;
  for (int i = 0; i < 20; ++i) sites.born(kBatch, kBig, kPython);
  sites.born(kEnd, 20 * kBig, kPython);
  EXPECT_EQ(sites.anchor(), std::nullopt);
}

TEST(RepeatedSites, OfSmallCyclesAreNone) {
  RepeatedSites sites;
  for (int i = 0; i < 100; ++i) sites.born(kBatch, 4096, kPython), sites.born(kKept, 8192, kPython);
  EXPECT_EQ(sites.anchor(), std::nullopt);
}

TEST(RepeatedSites, InPythonComeFirst) {
  RepeatedSites sites;
  for (int i = 0; i < 20; ++i) sites.born(kNative, kBig, !kPython), sites.born(kBatch, kBig, kPython);
  EXPECT_EQ(sites.anchor(), kBatch);
}

// Only 64 births of a site are stored.
TEST(RepeatedSites, OfAMillionCycles) {
  RepeatedSites sites;
  for (std::uint64_t i = 0; i < kMostCycles; ++i) sites.born(kBatch, kBig, kPython);
  EXPECT_EQ(sites.anchor(), kBatch);
  sites.born(kBatch, kBig, kPython);
  EXPECT_EQ(sites.anchor(), std::nullopt) << "above the bound";
}

} // namespace
} // namespace memtrace::replay
