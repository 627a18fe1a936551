// Purpose: tests that the history of a level has the peaks that a pass finds.
#include "analyzer/passes/peak_history.h"

#include <gtest/gtest.h>

#include <random>

#include "folded.h"
#include "tests/unit/sizes.h"

namespace memtrace::replay {
namespace {

using tests::Builder;
using tests::kMiB;

constexpr double kPart = 0.05;

// Levels that rise and fall at random, now and then by much, with a block at each rise.
struct RandomLevels {
  explicit RandomLevels(std::uint32_t seed) : random(seed), blocks(seed) {}

  std::int64_t next() {
    const std::int64_t large = random() % 8 == 0 ? 40 : 1;
    change = static_cast<std::int64_t>(random() % 1000) * large - 480 * large;
    if (level + change < 0) change = -change;
    return level += change;
  }

  std::mt19937 random, blocks;
  std::int64_t level = 500;
  std::int64_t change = 0;
};

TEST(PeakHistory, HasThePeaksOfALargerDepth) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    RandomLevels levels(seed);
    std::size_t room = 1 << 20;
    LevelHistory history(kPart, levels.level, room);
    std::vector<PeakTracker> trackers;
    std::vector<std::int64_t> depths;
    std::int64_t highest = levels.level;
    const std::int64_t begin = levels.level;
    {
      RandomLevels same(seed);
      for (int i = 0; i < 400; ++i) highest = std::max(highest, same.next());
    }
    const auto least =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(kPart * static_cast<double>(highest)));
    for (const std::int64_t depth : {least, least + 1, 2 * least, 5 * least, 15 * least}) {
      depths.push_back(depth);
      trackers.emplace_back(depth, begin);
    }
    for (trace::Ordinal at = 1; at <= 400; ++at) {
      const std::int64_t level = levels.next();
      const PhasePosition place{static_cast<PathId>(at % 3), static_cast<Step>(at / 100)};
      // Some blocks are gone at once, so their sizes do not follow from the level.
      std::vector<std::uint64_t> made(levels.blocks() % 3);
      for (std::uint64_t& bytes : made) bytes = levels.blocks() % static_cast<std::uint64_t>(highest);
      made.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(levels.change, 0)));
      const auto stack_of = [at](std::size_t i) {
        return format::StackId{static_cast<std::uint32_t>(1 + (at + i) % 7)};
      };
      for (std::size_t i = 0; i < made.size(); ++i) history.born(made[i], stack_of(i));
      history.reached(level, at, place);
      for (PeakTracker& tracker : trackers) {
        for (std::size_t i = 0; i < made.size(); ++i) tracker.born(made[i], stack_of(i));
        tracker.reached(level, at, place.path, place.step);
      }
    }
    for (std::size_t i = 0; i < depths.size(); ++i) {
      const auto known = history.peaks(depths[i]);
      ASSERT_TRUE(known) << "seed " << seed << ", depth " << depths[i];
      EXPECT_EQ(*known, trackers[i].take()) << "seed " << seed << ", depth " << depths[i];
    }
    EXPECT_FALSE(history.peaks(least - 1)) << "peaks of a smaller depth are not known";
  }
}

// A peak whose way up has many blocks: the last large one names it, whatever the depth makes large.
TEST(PeakHistory, KnowsTheLastLargeBlockOfEachDepth) {
  std::size_t room = 100;
  LevelHistory history(kPart, 0, room);
  const std::uint64_t sizes[] = {300, 400, 90, 200, 70};
  std::int64_t level = 0;
  for (std::uint32_t i = 0; i < 5; ++i) {
    history.born(sizes[i], format::StackId{i + 1});
    history.reached(level += static_cast<std::int64_t>(sizes[i]), i + 1, {});
  }
  const auto stack_with = [&](std::int64_t depth) {
    return static_cast<std::uint32_t>(history.peaks(depth)->back().stack);
  };
  EXPECT_EQ(stack_with(53), 5u);
  EXPECT_EQ(stack_with(71), 4u);
  EXPECT_EQ(stack_with(201), 2u);
  EXPECT_EQ(stack_with(401), 2u) << "no block is so large: the largest names the peak";
}

TEST(PeakHistory, GivesUpWithoutRoom) {
  std::size_t room = 20;
  LevelHistory one(kPart, 0, room);
  LevelHistory other(kPart, 0, room);
  other.reached(100, 1, {});
  other.reached(0, 2, {});
  for (trace::Ordinal at = 1; at < 100; ++at) one.reached(at % 2 == 0 ? 0 : 100, at, {});
  EXPECT_FALSE(one.peaks(50));
  EXPECT_TRUE(other.peaks(50));
  EXPECT_GE(room, 18u) << "the parts of the first history leave room";
}

TEST(PeakHistory, GivesUpAtALevelOfDamage) {
  std::size_t room = 20;
  LevelHistory history(kPart, 0, room);
  history.reached(std::int64_t{1} << 62, 1, {});
  EXPECT_FALSE(history.peaks(std::int64_t{1} << 61));
}

// Follows the first pass, and compares with a pass of its own for each measure.
TEST(PeakHistory, OfATraceIsThatOfAPass) {
  Builder builder;
  std::mt19937 random(7);
  builder.fork(5 * kMiB, kMiB);
  for (std::uint64_t i = 1; i <= 600; ++i) {
    if (i % 50 == 1) builder.begin(i % 100 == 1 ? "forward" : "backward");
    const std::uint64_t bytes = (1 + random() % 64) << 14;
    const std::uint16_t device = i % 3 == 0 ? 1 << format::kMemoryShift : 0;
    const auto flags = static_cast<std::uint16_t>(device | (i % 2 == 0 ? format::kTensor : 0));
    builder.birth(i << 20, bytes, device != 0 ? format::Kind::none : format::Kind::heap, flags,
                  static_cast<std::uint32_t>(1 + i % 5), bytes);
    if (i > 20 && random() % 8 != 0)
      for (std::uint64_t old = i - 20; old < i - 18; ++old)
        builder.death(old << 20, 0, old % 3 == 0 ? format::Kind::none : format::Kind::heap,
                      static_cast<std::uint16_t>(old % 3 == 0 ? 1 << format::kMemoryShift : 0));
    if (i % 50 == 0) builder.end(i % 100 == 50 ? "forward" : "backward");
  }
  const tests::Folded folded(builder);
  PeakHistory history(kPart);
  std::vector<SideObserver*> beside{&history};
  const Account account = account_phases(folded.trace(), nullptr, beside);
  for (const MemoryId memory : {MemoryId{0}, MemoryId{1}})
    for (const Measure measure : {Measure::live, Measure::tensor}) {
      const MemoryPeaks& peaks = account.peaks.at(memory);
      const std::int64_t highest = (measure == Measure::tensor ? peaks.tensor : peaks.live).bytes;
      if (highest == 0) continue;
      const auto depth = static_cast<std::int64_t>(kPart * static_cast<double>(highest));
      const auto known = history.peaks(memory, measure, depth);
      ASSERT_TRUE(known);
      const std::vector<LocalPeak> found = local_peaks(folded.trace(), memory, measure, depth);
      EXPECT_GT(found.size(), 2u);
      EXPECT_EQ(*known, found);
    }
}

} // namespace
} // namespace memtrace::replay
