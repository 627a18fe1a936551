// Purpose: small blocks as the hooks report them, against what the trace then holds.
#include "preload/blocks/small_blocks.h"
#include "preload/blocks/recording.h"
#include "preload/record/block_sampler.h"
#include "preload/record/emit.h"
#include "preload/record/live_levels.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/thread.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "child.h"
#include "reading.h"
#include "tests/unit/seed.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::RingRecord;
using tests::in_child;
using tests::Scratch;
using tests::operator+=;

struct Given {
  std::uint64_t address;
  std::uint64_t bytes;
};

std::vector<Given> blocks(std::size_t count) {
  std::mt19937_64 random(tests::seed(7));
  std::vector<Given> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back({(i + 1) << 12, 16 + random() % 4000});
  return all;
}

std::vector<RingRecord> records_in(const Scratch& scratch) {
  drain_rings(true);
  std::vector<RingRecord> all;
  for (const auto& segment : tests::read_segments(scratch.file("t.memtrace")))
    all.insert(all.end(), segment.records.begin(), segment.records.end());
  return all;
}

TEST(Small, EachIsDrawnByItsSize) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    settings.sample = 16 * 1024;
    tests::become_hot(scratch);
    this_thread()->pace.random = 42;
    const std::vector<Given> all = blocks(200'000);
    format::SmallTotals totals{};
    double expected = 0, variance = 0;
    for (const auto& [address, bytes] : all) {
      small_born(bytes, address, bytes - 1);
      totals += {bytes, 0, 1, 0};
      const double p = -std::expm1(-static_cast<double>(bytes) / 16384);
      expected += p;
      variance += p * (1 - p);
    }
    {
      const Recording here;
      here.tick();
    }
    format::SmallTotals carried{};
    double drawn = 0, estimate = 0, estimate_variance = 0;
    for (const RingRecord& record : records_in(scratch)) {
      carried += tests::flows_of(record);
      if (!tests::is(record, EventType::birth)) continue;
      ASSERT_EQ(record.flags, format::kSampled);
      const auto& birth = record.as<format::BirthEvent>();
      const Given& block = all.at((birth.address >> 12) - 1);
      ASSERT_EQ(birth.given, block.bytes);
      ASSERT_EQ(birth.asked, block.bytes - 1) << "asked";
      const double p = -std::expm1(-static_cast<double>(block.bytes) / 16384);
      ++drawn;
      estimate += static_cast<double>(block.bytes) / p;
      estimate_variance += std::pow(static_cast<double>(block.bytes), 2) * (1 - p) / (p * p);
    }
    EXPECT_NEAR(drawn, expected, 4 * std::sqrt(variance));
    EXPECT_NEAR(estimate, static_cast<double>(totals.allocated), 4 * std::sqrt(estimate_variance));
    EXPECT_EQ(carried.allocated, totals.allocated);
    EXPECT_EQ(carried.births, totals.births);
    EXPECT_EQ(host_level(), static_cast<std::int64_t>(totals.allocated))
        << "drawn blocks are not counted twice";
  });
}

TEST(Small, DeathsOfDrawnBlocksFollowTheirBirths) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    settings.sample = 4 * 1024;
    tests::become_hot(scratch);
    const std::vector<Given> all = blocks(20'000);
    const auto die = [](const Given& block) {
      small_died(block.bytes);
      if (maybe_tracked(reinterpret_cast<const void*>(block.address))) // NOLINT(performance-no-int-to-ptr)
        sampled_dies(block.address, block.bytes);
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
      small_born(all[i].bytes, all[i].address, all[i].bytes);
      if (i >= 100) die(all[i - 100]);
    }
    for (std::size_t i = all.size() - 100; i < all.size(); ++i) die(all[i]);
    {
      const Recording here;
      here.tick();
    }
    std::set<std::uint64_t> alive;
    std::size_t births = 0;
    for (const RingRecord& record : records_in(scratch)) {
      if (tests::is(record, EventType::birth)) {
        ++births;
        ASSERT_TRUE(alive.insert(record.as<format::BirthEvent>().address).second);
      } else if (tests::is(record, EventType::death)) {
        const auto& death = record.as<format::DeathEvent>();
        ASSERT_EQ(alive.erase(death.address), 1u);
        ASSERT_EQ(record.flags, format::kSampled);
        ASSERT_EQ(death.given, all.at((death.address >> 12) - 1).bytes);
      }
    }
    EXPECT_GT(births, 5'000u);
    EXPECT_EQ(alive.size(), 0u);
    EXPECT_EQ(host_level(), 0);
    EXPECT_EQ(tests::lost_in_all(), 0u);
  });
}

// Where MEMTRACE_MAX_NODE leaves room for counts alone, a drawn block is counted once, as a small one.
TEST(Small, CountedOnceWhereAllIsOnlyCounted) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    settings.sample = 1024;
    tests::become_hot(scratch);
    settings.counting = true;
    while (!sampled_holds(1 << 20)) small_born(2000, 1 << 20, 2000);
    const std::uint64_t births = local.small->births;
    small_died(2000);
    sampled_dies(1 << 20, 2000);
    EXPECT_EQ(local.small->allocated, births * 2000);
    EXPECT_EQ(local.small->deaths, 1u);
    EXPECT_EQ(local.small->freed, 2000u);
  });
}

// What it did must survive a kill, and so lies in the ring file from its first block on.
TEST(Small, AThreadThatDoesLittleTakesASlotAlone) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    small_born(100, 4096, 100);
    small_died(100);
    ASSERT_NE(local.thread->slot, nullptr);
    EXPECT_EQ(local.small, &local.thread->slot->small);
    EXPECT_EQ(ring_of(local.thread->slot_index).size, format::kSlotRecords);
    EXPECT_EQ(local.small->births, 1u);
    EXPECT_EQ(local.small->deaths, 1u);
    EXPECT_EQ(local.small->allocated, 100u);
    EXPECT_EQ(local.small->freed, 100u);
  });
}

// A signal handler that interrupts the recorder counts, and what it cannot record it counts as lost.
TEST(Small, InsideTheRecorder) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    settings.sample = 1024;
    tests::become_hot(scratch);
    while (!sampled_holds(1 << 20)) small_born(2000, 1 << 20, 2000);
    const format::SmallTotals before = *local.small;
    {
      const Recording here;
      small_born(1 << 20, 2 << 20, 1);
      EXPECT_FALSE(sampled_holds(2 << 20));
      EXPECT_EQ(tests::lost_for(format::Loss::reentered), 1u);
      small_died(100);
      sampled_dies(4 << 20, 100);
      EXPECT_EQ(tests::lost_for(format::Loss::reentered), 1u) << "that one was never drawn";
      sampled_dies(1 << 20, 2000);
      EXPECT_EQ(tests::lost_for(format::Loss::reentered), 2u);
    }
    EXPECT_EQ(local.small->births, before.births + 1);
    EXPECT_EQ(local.small->deaths, before.deaths + 1);
  });
}

TEST(Small, TheMarkOfATensorsFreeEndsTheCountdown) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    small_died(100);
    const std::int64_t left = local.deaths_left;
    EXPECT_GT(left, 16);
    mark_tensor_free();
    EXPECT_TRUE(take_from(local.deaths_left, 16)) << "the hook of free looks";
    EXPECT_TRUE(take_tensor_free());
    EXPECT_EQ(local.deaths_left, left);
    EXPECT_FALSE(take_tensor_free());
    EXPECT_EQ(local.deaths_left, left);
  });
}

} // namespace
} // namespace memtrace::record
