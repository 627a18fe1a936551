// Purpose: the figures of a process at a refresh, against what the test put into its trace.
#include "analyzer/live/live_process.h"

#include <gtest/gtest.h>

#include "analyzer/live/recent_growth.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::live {
namespace {

using tests::Builder;
using tests::kMiB;
using tests::kSignedMiB;

constexpr std::int64_t kBeyond = 8; // bytes that the Builder gives a tensor beyond the request

ProcessNow shown(Builder& builder) {
  const tests::Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"), builder.bytes());
  LiveProcess process(scratch.file("t.memtrace"));
  process.refresh();
  return process.now();
}

// Each step has 50 MiB more for a moment, and retains 3 MiB.
Builder training(std::uint64_t steps) {
  Builder builder;
  builder.begin("load").tensor(1 << 20, 100 * kMiB).end("load");
  for (std::uint64_t step = 0; step < steps; ++step) {
    builder.begin("forward")
        .birth(2 << 20, 50 * kMiB)
        .birth((10 + step) << 32, 3 * kMiB)
        .death(2 << 20)
        .end("forward");
    builder.wait(1'000'000'000).begin("step").end("step");
  }
  return builder;
}

TEST(LiveProcess, LevelsAndSteps) {
  Builder builder = training(20);
  const ProcessNow now = shown(builder);
  EXPECT_EQ(now.pid, 4242u);
  ASSERT_EQ(now.memories.size(), 1u);
  const MemoryNow& host = now.memories.front();
  EXPECT_EQ(host.live, 160 * kSignedMiB + kBeyond);
  EXPECT_EQ(host.tensor, 100 * kSignedMiB);
  EXPECT_EQ(host.per_step, 3 * kSignedMiB);
  EXPECT_NEAR(now.step_seconds, 1, 0.01);
  EXPECT_EQ(now.step, 19);
  ASSERT_EQ(host.steps.size(), 20u);
  EXPECT_EQ(host.steps[4].number, 4);
  EXPECT_EQ(host.steps[4].begin, 112 * kSignedMiB + kBeyond);
  EXPECT_EQ(host.steps[4].peak, 165 * kSignedMiB + kBeyond);
}

TEST(LiveProcess, PhasesOfTheLastWholeStep) {
  Builder builder = training(20);
  const ProcessNow now = shown(builder);
  EXPECT_EQ(now.phases_of, 18);
  const MemoryNow& host = now.memories.front();
  ASSERT_EQ(host.phases.size(), 2u);
  EXPECT_EQ(host.phases[0].name, "forward");
  EXPECT_EQ(host.phases[0].peak, (100 + 18 * 3 + 53) * kSignedMiB + kBeyond);
  EXPECT_EQ(host.phases[0].adds, 3 * kSignedMiB);
  EXPECT_EQ(host.phases[0].transient, 50 * kSignedMiB);
  EXPECT_EQ(host.phases[1].name, "update");
}

TEST(LiveProcess, RolesAddUpToTheLevel) {
  Builder builder = training(3);
  builder.counters(5000, 0, 5, 0);
  const ProcessNow now = shown(builder);
  std::int64_t sum = 0;
  for (const RoleNow& role : now.memories.front().roles) sum += role.bytes;
  EXPECT_EQ(sum, now.memories.front().live);
  EXPECT_EQ(now.memories.front().roles.front().name, "parameter");
  EXPECT_EQ(now.memories.front().roles.front().bytes, 100 * kSignedMiB + kBeyond);
}

// A site that allocates in each step has one line, the newest first.
TEST(LiveProcess, NewestLargeAllocationsBySite) {
  Builder builder;
  const std::uint32_t often = builder.python_frame("often", "/home/me/a.py", 7, 0);
  const std::uint32_t once = builder.python_frame("once", "/home/me/b.py", 8, 0);
  builder.birth(1 << 20, 5 * kMiB, format::Kind::heap, 0, once);
  for (std::uint64_t i = 2; i < 6; ++i) builder.birth(i << 32, i * kMiB, format::Kind::heap, 0, often);
  builder.birth(9 << 20, kMiB / 2, format::Kind::heap, 0, once);
  const ProcessNow now = shown(builder);
  const std::vector<LargeNow>& large = now.memories.front().large;
  ASSERT_EQ(large.size(), 2u);
  EXPECT_EQ(large[0].bytes, 5 * kMiB);
  EXPECT_EQ(large[0].times, 4u);
  EXPECT_NE(large[0].site.find("a.py:7"), std::string::npos) << large[0].site;
  EXPECT_EQ(large[1].times, 1u);
}

TEST(LiveProcess, AnEndIsSaidAndAMissingFileToo) {
  Builder builder = training(2);
  builder.exit(3);
  const ProcessNow now = shown(builder);
  EXPECT_FALSE(now.running);
  EXPECT_EQ(now.end, "exited with 3");
  EXPECT_TRUE(now.ended_badly);
  LiveProcess none("/nowhere/t.memtrace");
  none.refresh();
  EXPECT_NE(none.now().error, "");
}

TEST(RecentGrowth, IsThatOfMostPlaces) {
  std::vector<GrowthPoint> series;
  for (int i = 0; i < 40; ++i) series.push_back({static_cast<double>(i), 100 * kSignedMiB + i * kSignedMiB});
  EXPECT_EQ(growth(series), static_cast<double>(kMiB));
  series[7].bytes *= 10; // one step with more
  EXPECT_EQ(growth(series), static_cast<double>(kMiB));
  for (GrowthPoint& one : series)
    one.bytes = 100 * kSignedMiB + (static_cast<int>(one.at) % 5) * 30 * kSignedMiB;
  EXPECT_EQ(growth(series), 0); // a pattern that repeats
  for (GrowthPoint& one : series) one.bytes = 100 * kSignedMiB - static_cast<std::int64_t>(one.at) * kSignedMiB;
  EXPECT_EQ(growth(series), 0);
  EXPECT_EQ(growth(std::span<const GrowthPoint>(series).first(3)), 0);
}

// Two processes share a cgroup: each brings it nearer.
TEST(Predict, GrowthOfAllProcessesOfACgroupCounts) {
  std::vector<ProcessNow> processes(2);
  for (ProcessNow& process : processes) {
    process.running = true;
    process.memories.push_back({});
    process.memories[0].per_second = static_cast<double>(kMiB);
    LimitNow group;
    group.name = "cgroup /a";
    group.used = 100 * kMiB;
    group.limit = 300 * kMiB;
    LimitNow own = group;
    own.of = LimitNow::LiveLimitKind::address_space;
    own.name = "RLIMIT_AS";
    process.limits = {own, group};
  }
  predict(processes);
  EXPECT_EQ(processes[0].limits[0].name, "cgroup /a");
  EXPECT_NEAR(*processes[0].limits[0].full_in, 100, 1e-9);
  EXPECT_NEAR(*processes[0].limits[1].full_in, 200, 1e-9);
  processes[1].running = false;
  predict(processes);
  EXPECT_NEAR(*processes[0].limits[0].full_in, 200, 1e-9);
  EXPECT_FALSE(processes[1].limits[0].full_in);
}

} // namespace
} // namespace memtrace::live
