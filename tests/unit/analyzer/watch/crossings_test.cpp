// Purpose: a warning comes once for each time that a limit comes near, and at most once a minute.
#include "analyzer/watch/crossings.h"

#include <gtest/gtest.h>

namespace memtrace::watch {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

LimitUse group(std::uint64_t used, const std::string& name = "/a", std::uint64_t limit = 1000) {
  return {LimitKind::cgroup, name, 0, used, limit};
}

LimitUse machine(std::uint64_t used) {
  return {LimitKind::machine, "", 0, used, 1000};
}

TEST(Crossings, WarnOnceWhileMemoryStaysHigh) {
  Crossings crossings(Threshold::of_share(0.9));
  EXPECT_FALSE(crossings.look(0, {group(899)}));
  const auto near = crossings.look(kSecond, {group(900)});
  ASSERT_TRUE(near);
  EXPECT_EQ(near->used, 900u);
  for (std::uint64_t second = 2; second < 500; ++second)
    EXPECT_FALSE(crossings.look(second * kSecond, {group(880 + 20 * (second % 2))})) << second;
}

TEST(Crossings, WarnAgainAfterAFall) {
  Crossings crossings(Threshold::of_share(0.9));
  EXPECT_TRUE(crossings.look(0, {group(950)}));
  EXPECT_FALSE(crossings.look(100 * kSecond, {group(851)})); // 5 % of the limit is 50
  EXPECT_FALSE(crossings.look(101 * kSecond, {group(950)}));
  EXPECT_FALSE(crossings.look(200 * kSecond, {group(850)}));
  EXPECT_TRUE(crossings.look(201 * kSecond, {group(900)}));
}

TEST(Crossings, WarnAtMostOnceAMinute) {
  Crossings crossings(Threshold::of_share(0.9));
  EXPECT_TRUE(crossings.look(0, {group(950)}));
  EXPECT_FALSE(crossings.look(10 * kSecond, {group(100)}));
  EXPECT_FALSE(crossings.look(20 * kSecond, {group(950)}));
  EXPECT_TRUE(crossings.look(60 * kSecond, {group(950)})) << "it is still near when the minute is over";
  EXPECT_FALSE(crossings.look(70 * kSecond, {group(100)}));
  EXPECT_FALSE(crossings.look(80 * kSecond, {group(950)}));
  EXPECT_FALSE(crossings.look(90 * kSecond, {group(100)}));
  EXPECT_FALSE(crossings.look(130 * kSecond, {group(100)})) << "it fell before the minute was over";
}

TEST(Crossings, NameTheNearestOfSeveral) {
  Crossings crossings(Threshold::of_share(0.9));
  const auto near = crossings.look(0, {group(1990, "/outer", 2000), group(995), group(100, "/b")});
  ASSERT_TRUE(near);
  EXPECT_EQ(near->name, "/a");
  EXPECT_FALSE(crossings.look(100 * kSecond, {group(1990, "/outer", 2000), group(995)})) << "one for both";
  EXPECT_TRUE(crossings.look(200 * kSecond, {group(995), group(950, "/b")})) << "another limit";
}

TEST(Crossings, TheMachineCountsOnceItHasFallen) {
  Crossings crossings(Threshold::of_share(0.9));
  EXPECT_FALSE(crossings.look(0, {machine(950)}));
  EXPECT_FALSE(crossings.look(kSecond, {machine(960)}));
  EXPECT_FALSE(crossings.look(2 * kSecond, {machine(500)}));
  EXPECT_TRUE(crossings.look(3 * kSecond, {machine(950)}));
  Crossings others(Threshold::of_share(0.9));
  EXPECT_FALSE(others.look(0, {machine(500)}));
  EXPECT_TRUE(others.look(kSecond, {machine(950)}));
}

} // namespace
} // namespace memtrace::watch
