// Purpose: evidence finds its process by time, cgroup and size, and no other.
#include <gtest/gtest.h>

#include "analyzer/evidence/kill_matching.h"
#include "tests/unit/sizes.h"

namespace memtrace::evidence {
namespace {

using tests::kMiB;
constexpr double kBoot = 1'700'000'000; // Unix time

// A process that was last seen 100 s after boot, with 500 MiB.
Subject process(const Evidence& evidence, std::uint64_t pid = 10) {
  Subject subject;
  subject.pid = pid;
  subject.first_pids = true;
  subject.began = 50;
  subject.last = 100;
  subject.began_unix = kBoot + 50;
  subject.last_unix = kBoot + 100;
  subject.host = "node";
  subject.group = "/job/a";
  subject.directory = "/sys/fs/cgroup/memory/job/a";
  subject.kills_counted = 0;
  subject.anon = 500 * kMiB;
  subject.evidence = &evidence;
  return subject;
}

Kill kill(std::uint64_t pid = 10, double at = 100.1) {
  Kill out;
  out.pid = pid;
  out.when.boot = at;
  out.group = out.limited = "/job/a";
  out.anon = 600 * kMiB;
  return out;
}

TEST(Match, ByPid) {
  Evidence evidence;
  evidence.kills = {kill(9), kill(10), kill(11)};
  const Witness witness = match({process(evidence)})[0];
  ASSERT_NE(witness.kill, nullptr);
  EXPECT_EQ(witness.kill->pid, 10u);
  EXPECT_TRUE(witness.certain);
}

TEST(Match, NotTheSamePidAtAnotherTime) {
  Evidence evidence;
  evidence.kills = {kill(10, 60), kill(10, 400)};
  EXPECT_EQ(match({process(evidence)})[0].kill, nullptr);
}

TEST(Match, NotAnotherPidThatIsTheKernels) {
  Evidence evidence;
  evidence.kills = {kill(77)};
  EXPECT_EQ(match({process(evidence)})[0].kill, nullptr);
}

TEST(Match, InAPidNamespaceByTimeCgroupAndSize) {
  Evidence evidence;
  evidence.kills = {kill(4711)};
  Subject inside = process(evidence, 1);
  inside.first_pids = false;
  Witness witness = match({inside})[0];
  ASSERT_NE(witness.kill, nullptr);
  EXPECT_TRUE(witness.certain);

  evidence.kills[0].group = "/kubepods/pod1/job/a"; // it saw the end of the path only
  EXPECT_NE(match({inside})[0].kill, nullptr);
  evidence.kills[0].group = "/job/b";
  EXPECT_EQ(match({inside})[0].kill, nullptr);
  evidence.kills[0] = kill(4711);
  evidence.kills[0].anon = 20 * kMiB;
  EXPECT_EQ(match({inside})[0].kill, nullptr);
  evidence.kills[0] = kill(4711, 90);
  EXPECT_EQ(match({inside})[0].kill, nullptr);

  inside.group = "/"; // nothing is known of its cgroup: it fits, and is not certain
  evidence.kills[0] = kill(4711);
  witness = match({inside})[0];
  ASSERT_NE(witness.kill, nullptr);
  EXPECT_FALSE(witness.certain);
}

TEST(Match, OneKillAndTwoThatFit) {
  Evidence evidence;
  evidence.kills = {kill(4711)};
  Subject a = process(evidence, 1), b = process(evidence, 2);
  a.first_pids = b.first_pids = false;
  std::vector<Witness> both = match({a, b});
  EXPECT_EQ(both[0].kill, nullptr);
  EXPECT_EQ(both[1].kill, nullptr);
  EXPECT_EQ(both[0].other_candidates, 1u);

  b.last = 110; // it lived on
  both = match({a, b});
  EXPECT_NE(both[0].kill, nullptr);
  EXPECT_EQ(both[1].kill, nullptr);

  b.last = 100; // two kills: each has one
  evidence.kills.push_back(kill(4712));
  both = match({a, b});
  EXPECT_NE(both[0].kill, nullptr);
  EXPECT_NE(both[1].kill, nullptr);
  EXPECT_FALSE(both[0].certain);
}

TEST(Match, ACounterIsAWitnessWhereTheLogIsNone) {
  Evidence evidence;
  evidence.log = "Operation not permitted";
  CgroupState group;
  group.path = "/sys/fs/cgroup/memory/job/a";
  group.there = true;
  group.oom_kills = 1;
  evidence.groups = {group};
  Subject subject = process(evidence);
  EXPECT_EQ(match({subject})[0].counter, nullptr) << "it was not near its limit";
  subject.near_limit = true;
  EXPECT_NE(match({subject})[0].counter, nullptr);
  EXPECT_FALSE(match({subject})[0].certain);
  subject.kills_counted = 1;
  EXPECT_EQ(match({subject})[0].counter, nullptr) << "counted before";
  subject.kills_counted = 0;
  evidence.log = "";
  evidence.log_from = 10;
  EXPECT_EQ(match({subject})[0].counter, nullptr) << "the log was read, and does not name it";
  evidence.log_from = 5000;
  EXPECT_NE(match({subject})[0].counter, nullptr) << "what the log had of that time is gone";
}

TEST(Match, ACounterThatRoseOnceForTwo) {
  Evidence evidence;
  evidence.log = "no";
  CgroupState group;
  group.path = "/sys/fs/cgroup/memory/job/a";
  group.oom_kills = 1;
  evidence.groups = {group};
  Subject a = process(evidence, 1), b = process(evidence, 2);
  a.near_limit = b.near_limit = true;
  std::vector<Witness> both = match({a, b});
  EXPECT_EQ(both[0].counter, nullptr);
  EXPECT_EQ(both[0].other_candidates, 1u);
  b.last = 105; // it lived on: the first one it was
  both = match({a, b});
  EXPECT_NE(both[0].counter, nullptr);
  EXPECT_EQ(both[1].counter, nullptr);
  b.last = 100;
  evidence.groups[0].kills_all = true; // memory.oom.group
  both = match({a, b});
  EXPECT_NE(both[0].counter, nullptr);
  EXPECT_NE(both[1].counter, nullptr);
}

Statement container(double ended) {
  Statement out;
  out.source = "pod";
  out.reason = "OOMKilled";
  out.out_of_memory = true;
  out.ended.unix = ended;
  return out;
}

TEST(Match, AContainerThatEndedWithIt) {
  Evidence evidence;
  evidence.statements = {container(kBoot + 500), container(kBoot + 20), container(kBoot + 101)};
  const Witness witness = match({process(evidence)})[0];
  ASSERT_EQ(witness.statement, &evidence.statements[2]);
  EXPECT_TRUE(witness.certain);
  evidence.statements.pop_back();
  EXPECT_EQ(match({process(evidence)})[0].statement, nullptr);
}

TEST(Match, AContainerThatBeganLaterIsAnother) {
  Evidence evidence;
  evidence.statements = {container(kBoot + 101)};
  evidence.statements[0].began.unix = kBoot + 80;
  EXPECT_EQ(match({process(evidence)})[0].statement, nullptr);
}

TEST(Match, LocalTimesOfNoZone) {
  Evidence evidence;
  evidence.statements = {container(kBoot + 101 + 5.5 * 3600)};
  evidence.statements[0].ended.zoned = false;
  EXPECT_NE(match({process(evidence)})[0].statement, nullptr);
  evidence.statements[0].ended.unix = kBoot + 400 + 5.5 * 3600;
  EXPECT_EQ(match({process(evidence)})[0].statement, nullptr);
}

TEST(Match, OfSeveralContainersItsOwn) {
  Evidence evidence;
  evidence.statements = {container(kBoot + 101), container(kBoot + 101)};
  evidence.statements[1].host = "node";
  EXPECT_EQ(match({process(evidence)})[0].statement, &evidence.statements[1]);
}

TEST(Match, AFault) {
  Evidence evidence;
  ProgramFault fault;
  fault.pid = 10;
  fault.when.boot = 100.01;
  evidence.faults = {fault};
  EXPECT_NE(match({process(evidence)})[0].fault, nullptr);
  evidence.faults[0].when.boot = 70;
  EXPECT_EQ(match({process(evidence)})[0].fault, nullptr);
}

} // namespace
} // namespace memtrace::evidence
