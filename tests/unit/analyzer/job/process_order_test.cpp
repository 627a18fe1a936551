// Purpose: tests which process of a job a report leads with.
#include "analyzer/job/process_order.h"

#include <gtest/gtest.h>

namespace memtrace::report {
namespace {

// A process that began at `start` and ran for a second.
Process process(std::uint32_t pid, const char* kind, std::uint64_t start) {
  Process out;
  out.kind = kind;
  out.end.how = "exit";
  out.facts.pid = pid;
  out.facts.start_unix_ns = start * 1'000'000'000;
  out.facts.last_stamp = 1'000'000'000;
  return out;
}

std::vector<std::uint32_t> order(std::vector<Process> processes) {
  put_leading_first(processes);
  std::vector<std::uint32_t> out;
  for (const Process& one : processes) out.push_back(one.facts.pid);
  return out;
}

using Pids = std::vector<std::uint32_t>;

std::vector<Process> of_ranks() {
  std::vector<Process> out;
  out.push_back(process(1, "main", 10)); // the launcher
  for (std::uint32_t rank : {1u, 0u}) {
    out.push_back(process(20 + rank, "rank", 11));
    out.back().facts.rank = rank;
    out.back().facts.parameters = trace::Parameters{1, 1, 4, 1};
    out.push_back(process(30 + rank, "worker", 12));
  }
  return out;
}

TEST(ProcessOrder, ARankWithAModelLeadsNotItsLauncher) {
  EXPECT_EQ(order(of_ranks()), (Pids{20, 21, 1, 30, 31}));
}

TEST(ProcessOrder, TheFirstThatDiedForMemoryLeads) {
  std::vector<Process> processes = of_ranks();
  processes[0].failed = true;        // the launcher gave up, and ended first
  processes[1].end.how = "oom_kill"; // rank 1
  processes[4].end.how = "oom_kill"; // the worker of rank 0
  processes[4].facts.start_unix_ns = 0;
  EXPECT_EQ(order(std::move(processes)).front(), 30u) << "by the time of its end, also for a worker";
}

TEST(ProcessOrder, TheKernelsLogDecidesWhichDiedFirst) {
  std::vector<Process> processes;
  std::vector<evidence::Kill> kills(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    processes.push_back(process(40 + i, "main", 10 + i));
    processes[i].end.how = "oom_kill";
    kills[i].when.boot = 100.0 - i;
  }
  for (std::size_t i = 0; i < 2; ++i) processes[i].end.witness.kill = &kills[i];
  EXPECT_EQ(order(std::move(processes)), (Pids{41, 40}));
}

TEST(ProcessOrder, TheHighestPeakLeadsNotTheHighestSample) {
  std::vector<Process> processes;
  processes.push_back(process(7, "main", 10));
  processes.push_back(process(8, "child", 11));
  processes.push_back(process(9, "worker", 11));
  const std::vector<Process*> tied = tied_for_lead(processes);
  ASSERT_EQ(tied.size(), 2u) << "workers come after the others";
  tied[0]->peak = 50 << 20;
  tied[1]->peak = 60 << 20;
  EXPECT_EQ(order(std::move(processes)), (Pids{8, 7, 9}));
}

TEST(ProcessOrder, PeaksDecideOnlyBetweenEquals) {
  std::vector<Process> processes = of_ranks();
  EXPECT_TRUE(tied_for_lead(processes).empty()) << "rank 0 leads";
  processes[0].end.how = processes[1].end.how = "oom_kill";
  EXPECT_TRUE(tied_for_lead(processes).empty()) << "the first to die leads";
}

TEST(ProcessOrder, TiesAreByStart) {
  std::vector<Process> processes;
  processes.push_back(process(7, "main", 12));
  processes.push_back(process(8, "main", 11));
  EXPECT_EQ(order(std::move(processes)), (Pids{8, 7}));
}

} // namespace
} // namespace memtrace::report
