// Purpose: tests which processes of a directory are of one job.
#include "analyzer/job/job_partition.h"

#include <gtest/gtest.h>

#include "analyzer/files/warning.h"

namespace memtrace::report {
namespace {

// A process that began at `start` and ran for ten seconds.
Process of_job(std::uint32_t pid, const char* job, std::uint64_t start, const char* command = "train.py") {
  Process out;
  out.path = "/runs/" + std::to_string(pid) + ".memtrace";
  out.facts.pid = pid;
  out.facts.job = job;
  out.facts.argv = command;
  out.facts.start_unix_ns = start * 1'000'000'000;
  out.facts.last_stamp = 10'000'000'000;
  return out;
}

Process rank(std::uint32_t pid, const char* job, std::uint32_t number, const char* command) {
  Process out = of_job(pid, job, 100, command);
  out.facts.rank = number;
  out.facts.world_size = 4;
  return out;
}

template <class... Each>
std::vector<std::size_t> numbers(Each... each) {
  std::vector<Process> processes;
  (processes.push_back(std::move(each)), ...);
  number_jobs(processes);
  std::vector<std::size_t> out;
  for (const Process& one : processes) out.push_back(one.job);
  return out;
}

TEST(JobPartition, ProcessesWithOneIdAreOfOneJob) {
  const auto of = numbers(of_job(1, "a", 100), of_job(2, "a", 500, "worker"), of_job(3, "b", 100, "eval.py"));
  EXPECT_EQ(of[0], of[1]);
  EXPECT_NE(of[0], of[2]) << "another command at the same time";
}

TEST(JobPartition, TheSameCommandAtTheSameTimeIsOneJob) {
  const auto of = numbers(of_job(1, "a", 100), of_job(2, "b", 105), of_job(3, "c", 200));
  EXPECT_EQ(of[0], of[1]);
  EXPECT_NE(of[0], of[2]) << "it began after the others had ended";
}

TEST(JobPartition, OtherRanksOfOneWorldAreOneJob) {
  const auto of =
      numbers(rank(1, "a", 0, "node 0"), rank(2, "b", 1, "node 1"), rank(3, "c", 1, "node 0 again"));
  EXPECT_EQ(of[0], of[1]);
  EXPECT_NE(of[1], of[2]) << "rank 1 is there already";
}

// The first and the last have nothing in common but the one between them.
TEST(JobPartition, AJobMayJoinTwoOthers) {
  const auto of = numbers(of_job(1, "a", 100), of_job(3, "c", 115), of_job(2, "b", 108));
  EXPECT_EQ(of[0], of[1]);
  EXPECT_EQ(of[0], of[2]);
}

TEST(JobPartition, OtherJobsAreLeftOutWithALineEach) {
  std::vector<std::string> said;
  files::set_warning_writer([&said](const std::string& line) { said.push_back(line); });
  std::vector<Process> processes;
  processes.push_back(of_job(3, "b", 100, "eval.py"));
  for (std::uint32_t pid : {1u, 2u}) processes.push_back(of_job(pid, "a", 100));
  number_jobs(processes);
  leave_out_other_jobs(processes);
  files::set_warning_writer([](const std::string&) {});
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].facts.pid, 3u);
  EXPECT_EQ(said,
            std::vector<std::string>{"/runs: another job here is left out: train.py, pid 1 and 1 more, began "
                                     "1970-01-01 00:01:40 UTC: memtrace report /runs/1.memtrace"});
}

} // namespace
} // namespace memtrace::report
