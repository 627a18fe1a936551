// Purpose: the rank that failed first, and those that only followed it, on one host and on several.
#include "analyzer/job/first_death.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace memtrace::report {
namespace {

// A rank that ended `end` seconds after the start of the job.
Process rank(std::uint32_t number, const std::string& how, std::uint32_t code, double end,
             const std::string& host = "one") {
  Process out;
  out.kind = "rank";
  out.facts.rank = number;
  out.facts.pid = 100 + number;
  out.facts.host = host;
  out.facts.last_stamp = static_cast<std::uint64_t>(end * 1e9);
  out.end.how = how;
  out.end.code = code;
  return out;
}

std::vector<std::uint32_t> numbers(const std::vector<DeadRank>& ranks) {
  std::vector<std::uint32_t> out;
  for (const DeadRank& one : ranks) out.push_back(one.rank);
  return out;
}

using Numbers = std::vector<std::uint32_t>;

TEST(FirstDeath, OnOneHostTheFirstEndIsFirst) {
  std::vector<Process> all;
  all.push_back(rank(0, "exit", 1, 10.2));
  all.push_back(rank(1, "exit", 0, 8));
  all.push_back(rank(2, "signal", SIGKILL, 10.0));
  all.push_back(rank(3, "exit", 1, 10.4));
  const auto death = first_death(all);
  ASSERT_TRUE(death);
  EXPECT_EQ(numbers(death->first), (Numbers{2}));
  EXPECT_EQ(numbers(death->followed), (Numbers{0, 3}));
  EXPECT_EQ(death->others, 1u);
  EXPECT_NEAR(death->least_later, 0.2, 1e-6);
  EXPECT_NEAR(death->most_later, 0.4, 1e-6);
}

TEST(FirstDeath, WhatALauncherKilledIsNotFirst) {
  std::vector<Process> all;
  all.push_back(rank(0, "killed_by_manager", SIGTERM, 9.8)); // its last record is early
  all.push_back(rank(1, "unknown", SIGKILL, 10));
  EXPECT_EQ(numbers(first_death(all)->first), (Numbers{1}));
}

TEST(FirstDeath, ClocksOfTwoHostsGiveNoOrderWithinASecond) {
  std::vector<Process> all;
  all.push_back(rank(0, "exit", 1, 10.0, "one"));
  all.push_back(rank(1, "exit", 1, 10.6, "two"));
  all.push_back(rank(2, "exit", 1, 12.0, "two"));
  EXPECT_EQ(numbers(first_death(all)->first), (Numbers{0, 1}));
  EXPECT_EQ(numbers(first_death(all)->followed), (Numbers{2}));
  EXPECT_EQ(first_death(all)->hosts, 2u);
  all[1].facts.last_stamp = 11'100'000'000;
  EXPECT_EQ(numbers(first_death(all)->first), (Numbers{0}));
  all[1].facts.last_stamp = 10'600'000'000;
  all[1].end.how = "oom_kill";
  EXPECT_EQ(numbers(first_death(all)->first), (Numbers{1}))
      << "an exit follows a kill, not the other way round";
}

StepsOfRank steps(std::uint32_t rank, const char* host, double ahead, double length, int number = 20) {
  StepsOfRank out{rank, host, {}};
  for (int i = 0; i < number; ++i) out.begins[static_cast<std::uint64_t>(i)] = 100 + ahead + i * length;
  return out;
}

TEST(HostClocks, StepsCompareThemWithinTheLengthOfAStep) {
  StepsOfRank late = steps(1, "two", 7.3, 0.2);
  late.begins[5] += 0.1; // its batch came late
  const HostClocks clocks({steps(0, "one", 0, 0.2), late});
  const ClockDifference found = clocks.between("two", "one");
  EXPECT_NEAR(found.ahead, 7.3, 1e-9);
  EXPECT_NEAR(found.error, 0.2, 1e-9);
  EXPECT_NEAR(clocks.between("one", "two").ahead, -7.3, 1e-9);
  EXPECT_EQ(clocks.between("two", "two").error, 0);
}

TEST(HostClocks, AreAssumedWithoutStepsThatAgree) {
  const auto error = [](const StepsOfRank& other, double length = 0.2) {
    return HostClocks({steps(0, "one", 0, length), other}).between("two", "one").error;
  };
  EXPECT_EQ(error(steps(1, "two", 0.3, 0.2, 7)), kClockError) << "too few steps";
  EXPECT_EQ(error(steps(1, "two", 0.3, 0.25)), kClockError) << "they run on their own, and drift apart";
  EXPECT_EQ(error(steps(1, "two", 0.3, 5), 5), kClockError) << "a step is longer than the usual error";
  EXPECT_EQ(error(steps(1, "two", 60, 5), 5), 5) << "but these clocks are wrong by more";
  EXPECT_EQ(HostClocks().between("one", "two").error, kClockError);
}

TEST(FirstDeath, IsByClocksThatStepsCompared) {
  std::vector<Process> all;
  all.push_back(rank(0, "exit", 1, 10.0, "one"));
  all.push_back(rank(1, "exit", 1, 16.9, "two")); // 9.6 by the clock of the other host
  const HostClocks clocks({steps(0, "one", 0, 0.2), steps(1, "two", 7.3, 0.2)});
  const auto death = first_death(all, clocks);
  EXPECT_EQ(numbers(death->first), (Numbers{1}));
  EXPECT_NEAR(death->most_later, 0.4, 1e-6);
  EXPECT_NEAR(death->clock_error, 0.2, 1e-6);
  EXPECT_TRUE(death->clocks_compared);
  EXPECT_EQ(numbers(first_death(all)->first), (Numbers{0})) << "by the clocks as they are";
}

TEST(FirstDeath, OnlyOfRanksAndOnlyIfOneFailed) {
  std::vector<Process> all;
  all.push_back(rank(0, "exit", 0, 10));
  all.push_back(rank(1, "running", 0, 10));
  all.push_back(rank(1, "signal", SIGKILL, 5));
  all.back().kind = "worker";
  EXPECT_FALSE(first_death(all));
  std::vector<Process> alone;
  alone.push_back(rank(0, "signal", SIGKILL, 10));
  EXPECT_FALSE(first_death(alone)) << "it has its own first line";
}

} // namespace
} // namespace memtrace::report
