// Purpose: which processes a manager says that it ended, by lines as the managers write them, and what is none.
#include "analyzer/evidence/sources/manager_log.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "analyzer/evidence/evidence_store.h"
#include "analyzer/evidence/kill_matching.h"
#include "analyzer/evidence/manager_matching.h"
#include "analyzer/evidence/sources/evidence_file.h"
#include "analyzer/evidence/sources/manager_log_files.h"
#include "builder.h"

namespace memtrace::evidence {
namespace {

constexpr double kLogTime = 1786600000; // Thu Aug 13 05:46:40 UTC 2026

Evidence read_log(const std::string& text) {
  Evidence out;
  read_evidence(text, kLogTime, out);
  return out;
}

ManagerKill only_kill(const std::string& text) {
  const Evidence found = read_log(text);
  EXPECT_EQ(found.manager_kills.size(), 1u);
  return found.manager_kills.empty() ? ManagerKill{} : found.manager_kills[0];
}

// A process whose last record was `ago` seconds before kLogTime.
Subject ended_process(const Evidence& evidence, std::uint64_t pid, double ago = 0) {
  Subject out;
  out.pid = pid;
  out.first_pids = true;
  out.began = 100, out.last = 1000;
  out.last_unix = kLogTime - ago;
  out.began_unix = out.last_unix - 900;
  out.host = "node";
  out.group = "/user.slice/train.scope";
  out.evidence = &evidence;
  return out;
}

ManagerWitness witness_of(const Subject& of) {
  return match_managers({of}).front();
}

TEST(ManagerLog, Earlyoom) {
  const ManagerKill kill = only_kill(
      "2026-08-13T05:46:40+00:00 node earlyoom[500]: sending SIGTERM to process 7081 uid 1000 \"python3\": "
      "oom_score 900, VmRSS 2800 MiB, cmdline \"python3 train.py\"\n");
  EXPECT_EQ(kill.manager, "earlyoom");
  EXPECT_EQ(kill.pid, 7081u);
  EXPECT_EQ(kill.signal, SIGTERM);
  EXPECT_TRUE(kill.for_memory);
  EXPECT_EQ(kill.when.unix, kLogTime);
  EXPECT_TRUE(kill.words.starts_with("sending SIGTERM to process 7081"));
  EXPECT_EQ(
      only_kill(
          "Aug 13 05:46:40 node earlyoom[1479]: sending SIGKILL to process 7081 uid 0 \"simple\": badness "
          "966, VmRSS 61 MiB\n")
          .signal,
      SIGKILL);
}

TEST(ManagerLog, SystemdOomd) {
  const ManagerKill kill = only_kill(
      "2026-08-13T05:46:40+0000 node systemd-oomd[612]: Killed /user.slice/train.scope due to memory pressure "
      "for /user.slice being 61.01% > 50.00% for > 20s with reclaim activity\n");
  EXPECT_EQ(kill.manager, "systemd-oomd");
  EXPECT_EQ(kill.group, "/user.slice/train.scope");
  EXPECT_EQ(kill.pid, 0u);
  EXPECT_EQ(kill.signal, SIGKILL);
  EXPECT_EQ(
      only_kill(
          "2026-08-13T05:46:40+0000 node systemd-oomd[612]: Marked /a/b.scope for killing due to memory used "
          "(1) / total (2) and swap used (3) / total (4) being more than 90.00%\n")
          .group,
      "/a/b.scope");
}

TEST(ManagerLog, RayInOneLineAndInSeveral) {
  const ManagerKill kill = only_kill(
      "[2026-08-13 05:46:40,742 W 114 114] (gcs_server) gcs_worker_manager.cc:55: Reporting worker exit, "
      "exit_type = "
      "NODE_OUT_OF_MEMORY, exit_detail = Task was killed due to the node running low on memory.\n"
      "Memory on the node (IP: 10.0.0.1, ID: 50ee) where the task (task ID: NIL_ID, name=download_batch, "
      "pid=115205, "
      "memory used=0.18GB) was running was 14.67GB / 15.44GB (0.95015), which exceeds the memory usage "
      "threshold of "
      "0.95. Ray killed this worker (ID: 1c42) because it was the most recently scheduled task; to see more\n");
  EXPECT_EQ(kill.manager, "Ray");
  EXPECT_EQ(kill.pid, 115205u);
  ASSERT_TRUE(kill.when.unix) << "the time of the line before";
  EXPECT_NEAR(*kill.when.unix, kLogTime, 1);
  const Evidence selected = read_log(
      "  Ray killed 2 worker(s) based on the killing policy\n  Considered workers: [\n"
      "  Selected to kill: (Task: job ID=01, task name=f, pid=3310152, actual memory used=0.67GB, worker "
      "ID=3e)\n"
      "  (Task: job ID=01, task name=f, pid=3310151, actual memory used=21.95GB, worker ID=34)]\n");
  ASSERT_EQ(selected.manager_kills.size(), 1u) << "the other worker was only considered";
  EXPECT_EQ(selected.manager_kills[0].pid, 3310152u);
  EXPECT_EQ(
      only_kill(
          "WARNING worker.py:1839 -- A worker died. Worker PID: 69161 Worker exit type: SYSTEM_ERROR Worker "
          "exit detail: Task was killed due to the node running low on memory.\n")
          .pid,
      69161u);
}

constexpr char kTorchrunLog[] =
    "W0813 05:46:39.776000 2585 torch/distributed/elastic/multiprocessing/api.py:898] Sending process 2711 "
    "closing "
    "signal SIGTERM\n"
    "W0813 05:46:39.778000 2585 torch/distributed/elastic/multiprocessing/api.py:898] Sending process 2713 "
    "closing "
    "signal SIGTERM\n"
    "E0813 05:46:39.893000 2585 torch/distributed/elastic/multiprocessing/api.py:870] failed (exitcode: -9) "
    "local_rank: 1 (pid: 2712) of binary: /usr/bin/python\n";

TEST(ManagerLog, TorchrunAndTheProcessThatFailedFirst) {
  const Evidence found = read_log(kTorchrunLog);
  ASSERT_EQ(found.manager_kills.size(), 2u);
  for (const ManagerKill& kill : found.manager_kills) {
    EXPECT_EQ(kill.manager, "torchrun");
    EXPECT_EQ(kill.failed, 2712u);
    EXPECT_FALSE(kill.for_memory);
  }
  ASSERT_EQ(found.statements.size(), 1u);
  EXPECT_EQ(found.statements[0].pid, 2712u);
  EXPECT_EQ(found.statements[0].signal, 9);
}

TEST(ManagerLog, OldTorchrunWithoutTimes) {
  const Evidence found = read_log(
      "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 518 closing signal "
      "SIGTERM\nERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) "
      "local_rank: 0 (pid: 517) of binary: /usr/bin/python\n");
  ASSERT_EQ(found.manager_kills.size(), 1u);
  EXPECT_FALSE(found.manager_kills[0].when.unix);
  EXPECT_EQ(found.statements[0].code, 1);
  const ManagerWitness found_for = witness_of(ended_process(found, 518));
  EXPECT_NE(found_for.kill, nullptr);
  EXPECT_FALSE(found_for.certain) << "the log may be of another run";
}

TEST(ManagerLog, LinesThatAreNone) {
  for (const char* text :
       {"Sending SIGTERM to process 4711...\n", "sending SIGTERM to process 12345 (stress-ng-vm):\n",
        "Killed process 7081 due to memory\n", "node was Killed /a/b due to policy\n",
        "a script: Sending process 12 to sleep\n", "failed (exitcode: 1) somewhere\n"})
    EXPECT_THROW(read_log(text), Unknown) << text;
}

TEST(ManagerLog, AKubeletsEvictionByPodAndByEvent) {
  const std::string message =
      "The node was low on resource: memory. Threshold quantity: 100Mi, available: 91Mi. ";
  const ManagerKill pod = only_kill(
      R"({"kind":"Pod","metadata":{"name":"train-0"},"spec":{},"status":{"phase":"Failed","reason":"Evicted",)"
      R"("message":")" +
      message +
      R"(","conditions":[{"type":"DisruptionTarget","lastTransitionTime":"2026-08-13T05:46:40Z"}]}})");
  EXPECT_EQ(pod.manager, "kubelet");
  EXPECT_EQ(pod.host, "train-0");
  EXPECT_TRUE(pod.for_memory);
  EXPECT_EQ(pod.when.unix, kLogTime);
  const ManagerKill event =
      only_kill(R"({"kind":"List","items":[{"kind":"Event","reason":"Evicted","message":")" + message +
                R"(","involvedObject":{"kind":"Pod","name":"train-0"},"lastTimestamp":"2026-08-13T05:46:40Z"},)"
                R"({"kind":"Event","reason":"Pulled","involvedObject":{"kind":"Pod","name":"train-1"}}]})");
  EXPECT_EQ(event.host, "train-0");
  EXPECT_TRUE(event.for_memory);
  EXPECT_FALSE(only_kill(R"({"kind":"Pod","metadata":{"name":"a"},"status":{"reason":"Evicted",)"
                         R"("message":"The node was low on resource: ephemeral-storage. "}})")
                   .for_memory);
}

TEST(ManagerMatching, ByPidAndTime) {
  const Evidence found = read_log(kTorchrunLog);
  EXPECT_TRUE(witness_of(ended_process(found, 2711)).certain);
  EXPECT_EQ(witness_of(ended_process(found, 2712)).kill, nullptr) << "it failed by itself";
  EXPECT_EQ(witness_of(ended_process(found, 2711, 300)).kill, nullptr) << "it had ended five minutes before";
}

// A job of two hosts, where each host has a process of the pid that the log of one host names.
TEST(ManagerMatching, APidIsOfOneHost) {
  const Evidence found = read_log(kTorchrunLog);
  Subject here = ended_process(found, 2711);
  here.only_host = false;
  ASSERT_NE(witness_of(here).kill, nullptr);
  EXPECT_FALSE(witness_of(here).certain) << "the log may be of the other host";

  const std::string summary =
      "[0]:\n  time      : 2026-08-13_05:46:39\n  host      : node.cluster.local\n"
      "  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 2712)\n";
  const Evidence named = read_log(kTorchrunLog + summary);
  here.evidence = &named;
  EXPECT_TRUE(witness_of(here).certain) << "torchrun's summary names the host";
  std::string unresolved = summary;
  unresolved.replace(unresolved.find("node.cluster.local"), 18, "localhost");
  const Evidence unnamed = read_log(kTorchrunLog + unresolved);
  here.evidence = &unnamed;
  ASSERT_NE(witness_of(here).kill, nullptr) << "each host has this name";
  EXPECT_FALSE(witness_of(here).certain);
  here.evidence = &named;
  here.host = "node2";
  EXPECT_EQ(witness_of(here).kill, nullptr);
}

TEST(ManagerMatching, AFailureIsOfOneHost) {
  const Evidence found = read_log(kTorchrunLog);
  Subject failed = ended_process(found, 2712);
  EXPECT_TRUE(match({failed}).front().certain);
  failed.only_host = false;
  EXPECT_NE(match({failed}).front().statement, nullptr);
  EXPECT_FALSE(match({failed}).front().certain);
}

TEST(ManagerMatching, APidOfTheMachineIsNoneOfAContainer) {
  const Evidence found = read_log(
      "2026-08-13T05:46:40Z node earlyoom[5]: sending SIGTERM to process 70 uid 0 \"p\": "
      "badness 9, VmRSS 1 MiB\n");
  Subject inside = ended_process(found, 70);
  EXPECT_TRUE(witness_of(inside).certain);
  inside.first_pids = false;
  EXPECT_EQ(witness_of(inside).kill, nullptr);
}

TEST(ManagerMatching, ACgroupWithAllBelowIt) {
  const Evidence found = read_log(
      "2026-08-13T05:46:40Z node systemd-oomd[6]: Killed /user.slice due to memory pressure "
      "for /user.slice being 61.01% > 50.00%\n");
  Subject below = ended_process(found, 7);
  EXPECT_TRUE(witness_of(below).certain);
  below.group = "/user.slicer/train.scope";
  EXPECT_EQ(witness_of(below).kill, nullptr);
  below.group = "/"; // as a process in a cgroup namespace sees it
  EXPECT_EQ(witness_of(below).kill, nullptr);
}

TEST(ManagerMatching, SigkillAfterSigterm) {
  const Evidence found = read_log(
      "W0813 05:46:10.0 2585 a.py:1] Sending process 2711 closing signal SIGTERM\n"
      "W0813 05:46:40.0 2585 a.py:1] Unable to shutdown process 2711 via Signals.SIGTERM, forcefully exiting "
      "via "
      "Signals.SIGKILL\n");
  const ManagerWitness last = witness_of(ended_process(found, 2711));
  ASSERT_NE(last.kill, nullptr);
  EXPECT_EQ(last.kill->signal, SIGKILL);
}

TEST(ManagerLog, IsKeptBesideTheTrace) {
  const tests::Scratch scratch;
  const Evidence found = read_log(kTorchrunLog);
  ASSERT_TRUE(save(scratch.file("a.evidence"), found));
  const auto again = load(scratch.file("a.evidence"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->manager_kills, found.manager_kills);
}

TEST(ManagerLogFiles, OfTheMachine) {
  const tests::Scratch scratch;
  std::filesystem::create_directories(scratch.file("var/log"));
  tests::write_file(
      scratch.file("var/log/syslog"),
      "Aug 13 05:46:40 node earlyoom[5]: sending SIGTERM to process 70 uid 0 \"p\": badness 9, VmRSS 1 "
      "MiB\n" +
          std::string(kTorchrunLog));
  Evidence found;
  read_manager_logs(found, kLogTime, scratch.path());
  ASSERT_EQ(found.manager_kills.size(), 1u) << "torchrun does not write there";
  EXPECT_EQ(found.manager_kills[0].pid, 70u);
  EXPECT_TRUE(found.statements.empty());
}

} // namespace
} // namespace memtrace::evidence
