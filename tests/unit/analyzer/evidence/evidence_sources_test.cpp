// Purpose: what others say of an end: logs, counters, pods and job steps as their writers document them.
#include <gtest/gtest.h>

#include <filesystem>

#include "analyzer/evidence/evidence_store.h"
#include "analyzer/evidence/sources/cgroup_counters.h"
#include "analyzer/evidence/sources/evidence_file.h"
#include "analyzer/evidence/sources/kernel_log.h"
#include "analyzer/evidence/sources/log_time.h"
#include "builder.h"

namespace memtrace::evidence {
namespace {

using tests::Scratch;
using tests::write_file;

Evidence read(const std::string& text, double near_unix = 0) {
  Evidence found;
  read_evidence(text, near_unix, found);
  return found;
}

constexpr char kCgroupKill[] =
    "[11980.929515] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
    "[11980.929592] memory: usage 921600kB, limit 921600kB, failcnt 400\n"
    "[11980.929601] memory+swap: usage 921600kB, limit 9007199254740988kB, failcnt 0\n"
    "[11980.929605] Memory cgroup stats for /kubepods/pod1:\n"
    "[11980.929746] [  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes "
    "swapents "
    "oom_score_adj name\n"
    "[11980.929753] "
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,3,oom_memcg=/kubepods/pod1,"
    "task_memcg=/kubepods/pod1/main,task=python,pid=7081,uid=0\n"
    "[11980.929788] Memory cgroup out of memory: Killed process 7081 (python) total-vm:1435900kB, "
    "anon-rss:918932kB, file-rss:93696kB, shmem-rss:4kB, UID:0 pgtables:2312kB oom_score_adj:0\n"
    "[11981.000000] oom_reaper: reaped process 7081 (python), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB\n";

TEST(KernelLog, AKillAtTheLimitOfACgroup) {
  const Evidence found = read(kCgroupKill);
  ASSERT_EQ(found.kills.size(), 1u);
  const Kill& kill = found.kills[0];
  EXPECT_EQ(kill.pid, 7081u);
  EXPECT_EQ(kill.name, "python");
  EXPECT_EQ(kill.constraint, "CONSTRAINT_MEMCG");
  EXPECT_EQ(kill.limited, "/kubepods/pod1");
  EXPECT_EQ(kill.group, "/kubepods/pod1/main");
  EXPECT_EQ(kill.anon, 918932u * 1024);
  EXPECT_EQ(kill.file, 93696u * 1024);
  EXPECT_EQ(kill.shmem, 4096u);
  EXPECT_EQ(kill.usage, 921600u * 1024);
  EXPECT_EQ(kill.limit, 921600u * 1024);
  EXPECT_DOUBLE_EQ(kill.when.boot.value(), 11980.929788);
  EXPECT_TRUE(kill.words.starts_with("Killed process 7081 (python) total-vm:"));
}

TEST(KernelLog, AKillForTheMachine) {
  const Evidence found = read(
      "Nov 21 16:21:24 gpu-07 kernel: "
      "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=user.slice,mems_allowed=0,global_oom,"
      "task_memcg=/user.slice/user-1000.slice,task=train,pid=99,uid=1000\n"
      "Nov 21 16:21:24 gpu-07 kernel: Out of memory: Killed process 99 (train) total-vm:8kB, anon-rss:4kB, "
      "file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0\n",
      1795000000);
  ASSERT_EQ(found.kills.size(), 1u);
  EXPECT_EQ(found.kills[0].constraint, "CONSTRAINT_NONE");
  EXPECT_EQ(found.kills[0].limited, "");
  EXPECT_EQ(found.kills[0].group, "/user.slice/user-1000.slice");
  EXPECT_DOUBLE_EQ(found.kills[0].when.unix.value(), 1795278084); // 2026-11-21 16:21:24, were it UTC
  EXPECT_FALSE(found.kills[0].when.zoned);
}

TEST(KernelLog, WhatKernelsBefore419Wrote) {
  const Evidence found = read(
      "[  100.1] python invoked oom-killer: gfp_mask=0x14000c0, order=0\n"
      "[  100.2] Task in /docker/abc killed as a result of limit of /docker\n"
      "[  100.3] memory: usage 1024kB, limit 1024kB, failcnt 7\n"
      "[  100.4] Memory cgroup out of memory: Kill process 12 (python) score 990 or sacrifice child\n"
      "[  100.5] Killed process 12 (python) total-vm:100kB, anon-rss:50kB, file-rss:1kB, shmem-rss:0kB\n");
  ASSERT_EQ(found.kills.size(), 1u);
  EXPECT_EQ(found.kills[0].group, "/docker/abc");
  EXPECT_EQ(found.kills[0].limited, "/docker");
  EXPECT_EQ(found.kills[0].limit, 1024u * 1024);
}

TEST(KernelLog, AWholeGroup) {
  const Evidence found = read(
      "[1.0] a invoked oom-killer: gfp_mask=0\n"
      "[1.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/job,"
      "task_memcg=/job,task=a,pid=5,uid=0\n"
      "[1.2] Memory cgroup out of memory: Killed process 5 (a) total-vm:9kB, anon-rss:8kB, file-rss:0kB, "
      "shmem-rss:0kB\n"
      "[1.3] Tasks in /job are going to be killed due to memory.oom.group set\n"
      "[1.4] Memory cgroup out of memory: Killed process 5 (a) total-vm:9kB, anon-rss:8kB, file-rss:0kB, "
      "shmem-rss:0kB\n"
      "[1.5] Memory cgroup out of memory: Killed process 6 (b) total-vm:7kB, anon-rss:6kB, file-rss:0kB, "
      "shmem-rss:0kB\n"
      "[9.0] c invoked oom-killer: gfp_mask=0\n"
      "[9.1] Memory cgroup out of memory: Killed process 7 (c) total-vm:7kB, anon-rss:6kB, file-rss:0kB, "
      "shmem-rss:0kB\n");
  ASSERT_EQ(found.kills.size(), 4u);
  EXPECT_FALSE(found.kills[0].whole_group);
  EXPECT_TRUE(found.kills[2].whole_group);
  EXPECT_EQ(found.kills[2].pid, 6u);
  EXPECT_EQ(found.kills[2].group, "/job");
  EXPECT_EQ(found.kills[2].limited, "/job");
  EXPECT_FALSE(found.kills[3].whole_group);
  EXPECT_EQ(found.kills[3].group, "");
  EXPECT_TRUE(found.kills[3].for_group());
}

// The kernel leaves the rest out where it has written much already.
TEST(KernelLog, AKillOfWhichOneLineIsLeft) {
  const Evidence found =
      read(std::string(kCgroupKill) +
           "[11990.0] Memory cgroup out of memory: Killed process 8000 (other) total-vm:9kB, anon-rss:8kB, "
           "file-rss:0kB, shmem-rss:0kB\n"
           "[11991.0] Out of memory: Killed process 8001 (third) total-vm:9kB, anon-rss:8kB, file-rss:0kB, "
           "shmem-rss:0kB\n");
  ASSERT_EQ(found.kills.size(), 3u);
  EXPECT_EQ(found.kills[1].limited, "");
  EXPECT_TRUE(found.kills[1].for_group());
  EXPECT_EQ(found.kills[1].usage, kUnknown);
  EXPECT_FALSE(found.kills[2].for_group());
}

// A name may hold anything.
TEST(KernelLog, NamesThatLookLikeMore) {
  const Evidence found = read(
      "[1.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,b,"
      "task_memcg=/a,b/c,task=x,pid=1,uid=,pid=40,uid=0\n"
      "[1.1] Memory cgroup out of memory: Killed process 40 (x) total-v (y) total-vm:4kB, anon-rss:4kB, "
      "file-rss:0kB, shmem-rss:0kB\n");
  ASSERT_EQ(found.kills.size(), 1u);
  EXPECT_EQ(found.kills[0].limited, "/a,b");
  EXPECT_EQ(found.kills[0].group, "/a,b/c");
  EXPECT_EQ(found.kills[0].name, "x) total-v (y");
}

TEST(KernelLog, Faults) {
  const Evidence found = read(
      "[   5.5] python3[18673]: segfault at 8 ip 00007f7b62585ad8 sp 00007ffcb2d1bc08 error 4 in "
      "libc.so.6[1+2]\n"
      "[   6.5] traps: train[77] trap invalid opcode ip:1 sp:2 error:0 in train[1+2]\n"
      "[   7.5] traps: my prog[78] general protection fault ip:1 sp:2 error:0\n"
      "[   8.5] something[79]: talks of a trap and of a segfault\n");
  ASSERT_EQ(found.faults.size(), 3u);
  EXPECT_EQ(found.faults[0].pid, 18673u);
  EXPECT_EQ(found.faults[0].name, "python3");
  EXPECT_EQ(found.faults[1].name, "train");
  EXPECT_EQ(found.faults[2].name, "my prog");
}

TEST(KernelLog, DamagedLinesAreNoKills) {
  std::string text = kCgroupKill;
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    Evidence found;
    KernelLog(found, 0).all(std::string_view(text).substr(0, cut));
    KernelLog(found, 0).all(std::string_view(text).substr(cut));
    EXPECT_LE(found.kills.size(), 2u);
  }
}

TEST(Clock, WhatLogsWrite) {
  EXPECT_DOUBLE_EQ(line_time("[   12.5] x", 0).boot.value(), 12.5);
  EXPECT_DOUBLE_EQ(line_time("<4>[   12.5] x", 0).boot.value(), 12.5);
  EXPECT_DOUBLE_EQ(line_time("[Sat Nov 21 16:21:24 2026] x", 0).unix.value(), 1795278084);
  EXPECT_DOUBLE_EQ(line_time("2026-11-21T16:21:24,500000+01:00 x", 0).unix.value(), 1795278084.5 - 3600);
  EXPECT_DOUBLE_EQ(line_time("2026-11-21T16:21:24+0000 host kernel: x", 0).unix.value(), 1795278084);
  EXPECT_TRUE(line_time("2026-11-21T16:21:24Z x", 0).zoned);
  EXPECT_FALSE(line_time("2026-11-21 16:21:24 x", 0).zoned);
  EXPECT_DOUBLE_EQ(line_time("Dec 31 23:59:59 host kernel: x", 1798761600 + 60).unix.value(), 1798761599);
  EXPECT_FALSE(line_time("no time at all", 0).unix);
  EXPECT_FALSE(line_time("[", 0).boot);
  EXPECT_FALSE(line_time("", 0).unix);
}

// The shape of `kubectl get pod -o json`, in so far as it is read.
constexpr char kPod[] = R"({"apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "train-0", "namespace": "ml"},
  "spec": {"nodeName": "gpu-07", "containers": [
    {"name": "log", "resources": {}},
    {"name": "main", "resources": {"limits": {"memory": "480Gi", "nvidia.com/gpu": "8"}}}]},
  "status": {"containerStatuses": [
    {"name": "main", "restartCount": 1, "state": {"running": {"startedAt": "2026-11-21T16:22:00Z"}},
     "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "startedAt": "2026-11-21T16:00:00Z",
                                  "finishedAt": "2026-11-21T16:21:24Z"}}}]}})";

TEST(Pod, AContainerThatWasKilled) {
  const Evidence found = read(kPod);
  ASSERT_EQ(found.statements.size(), 1u);
  const Statement& statement = found.statements[0];
  EXPECT_EQ(statement.source, "pod");
  EXPECT_EQ(statement.who, "pod train-0, container main");
  EXPECT_EQ(statement.host, "train-0");
  EXPECT_EQ(statement.reason, "OOMKilled");
  EXPECT_TRUE(statement.out_of_memory);
  EXPECT_EQ(statement.code, 137);
  EXPECT_EQ(statement.limit, std::uint64_t{480} << 30);
  EXPECT_DOUBLE_EQ(statement.ended.unix.value(), 1795278084);
}

TEST(Pod, AListAndNonsense) {
  EXPECT_EQ(read(std::string(R"({"kind": "List", "items": [)") + kPod + "," + kPod + "]}").statements.size(),
            2u);
  EXPECT_TRUE(read(R"({"kind": "Pod", "status": {"containerStatuses": [3, {"lastState": {"terminated": 7}}]}})")
                  .statements.empty());
  EXPECT_THROW(read(R"({"kind": "Service"})"), Unknown);
  EXPECT_THROW(read("{"), Unknown);
}

TEST(Sacct, ColumnsAndBars) {
  const Evidence table = read(
      "JobID           JobName      State ExitCode                 End     ReqMem \n"
      "------------ ---------- ---------- -------- ------------------- ---------- \n"
      "81734             train OUT_OF_ME+    0:125 2026-11-21T16:21:24       480G \n"
      "81734.0          python OUT_OF_ME+    0:125 2026-11-21T16:21:24            \n"
      "81735             train    RUNNING      0:0             Unknown       480G \n");
  ASSERT_EQ(table.statements.size(), 2u);
  EXPECT_EQ(table.statements[0].who, "job step 81734");
  EXPECT_TRUE(table.statements[1].out_of_memory);
  EXPECT_EQ(table.statements[0].signal, 125);
  EXPECT_EQ(table.statements[0].limit, std::uint64_t{480} << 30);
  EXPECT_DOUBLE_EQ(table.statements[0].ended.unix.value(), 1795278084);

  const Evidence bars =
      read("JobID|State|ExitCode|NodeList|\n81734.0|FAILED|1:0|gpu-07|\n81734.1|CANCELLED by 0|0:9|gpu-07|\n");
  ASSERT_EQ(bars.statements.size(), 2u);
  EXPECT_FALSE(bars.statements[0].out_of_memory);
  EXPECT_EQ(bars.statements[1].signal, 9);
  EXPECT_EQ(bars.statements[1].host, "gpu-07");
  EXPECT_THROW(read("JobID|JobName|\n1|x|\n"), Unknown);
}

// With work for each pair of line and column this takes longer than the test may.
TEST(Sacct, AsManyColumnsAsLines) {
  std::string names = "JobID State ", dashes = "----- ----- ", lines;
  for (int i = 0; i < 200'000; ++i) {
    names += "x ";
    dashes += "- ";
    lines += "1     FAILED\n";
  }
  EXPECT_EQ(read(names + "\n" + dashes + "\n" + lines).statements.size(), 200'000u);
}

// As Documentation/admin-guide/cgroup-v2.rst has its files.
TEST(Groups, VersionTwo) {
  Scratch scratch;
  const std::string group = scratch.file("kubepods.slice");
  std::filesystem::create_directory(group);
  write_file(group + "/memory.current", "515396075520\n");
  write_file(group + "/memory.max", "515396075520\n");
  write_file(group + "/memory.peak", "515396075520\n");
  write_file(group + "/memory.stat", "anon 510000000000\nfile 5000000\nkernel 3000000\n");
  write_file(group + "/memory.events", "low 0\nhigh 0\nmax 212\noom 3\noom_kill 2\noom_group_kill 1\n");
  write_file(group + "/memory.oom.group", "1\n");
  const CgroupState found = read_group("/kubepods.slice", scratch.path());
  EXPECT_TRUE(found.there);
  EXPECT_TRUE(found.version_two);
  EXPECT_EQ(found.charge, 515396075520u);
  EXPECT_EQ(found.limit, 515396075520u);
  EXPECT_EQ(found.oom_kills, 2u);
  EXPECT_EQ(found.met, 212u);
  EXPECT_TRUE(found.kills_all);
  write_file(group + "/memory.max", "max\n");
  EXPECT_EQ(read_group("/kubepods.slice", scratch.path()).limit, kUnknown);
}

// As Documentation/admin-guide/cgroup-v1/memory.rst has its files.
TEST(Groups, VersionOne) {
  Scratch scratch;
  const std::string group = scratch.file("docker");
  std::filesystem::create_directory(group);
  write_file(group + "/memory.usage_in_bytes", "943718400\n");
  write_file(group + "/memory.max_usage_in_bytes", "943718400\n");
  write_file(group + "/memory.limit_in_bytes", "943718400\n");
  write_file(group + "/memory.failcnt", "400\n");
  write_file(group + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  const CgroupState found = read_group("/docker", scratch.path());
  EXPECT_TRUE(found.there);
  EXPECT_FALSE(found.version_two);
  EXPECT_EQ(found.limit, 943718400u);
  EXPECT_EQ(found.oom_kills, 1u);
  EXPECT_EQ(found.met, 400u);
  write_file(group + "/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(read_group("/docker", scratch.path()).limit, kUnknown);
  EXPECT_FALSE(read_group("/gone", scratch.path()).there);
}

TEST(Store, KeepsAllOfIt) {
  Scratch scratch;
  Evidence evidence = read(kCgroupKill);
  add(evidence, read(kPod), "pod.json");
  add(evidence, read("[5.5] p[1]: segfault at 8 ip 0 sp 0 error 4\n"));
  evidence.asked = true;
  evidence.read_unix = 1795278084.25;
  evidence.log_from = 0.5;
  evidence.groups.push_back({"/sys/fs/cgroup/a", true, true, 1, kUnknown, 3, 4, kUnknown, true});
  evidence.left = {1795278090.5,
                   2,
                   "4026531836",
                   {{"psm_1", 48 << 20, 1795278000.25, 1795278000.375}, {"torch_7_1_1", 4096, 1795278001, {}}}};
  const std::string path = store_of(scratch.file("t.memtrace"));
  EXPECT_EQ(path, scratch.file("t.evidence"));
  ASSERT_TRUE(save(path, evidence));
  const auto back = load(path);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kills, evidence.kills);
  EXPECT_EQ(back->faults, evidence.faults);
  EXPECT_EQ(back->groups, evidence.groups);
  EXPECT_EQ(back->statements, evidence.statements);
  EXPECT_EQ(back->files, evidence.files);
  EXPECT_EQ(back->left, evidence.left);
  EXPECT_EQ(back->asked, true);
  EXPECT_EQ(back->read_unix, evidence.read_unix);
  EXPECT_EQ(back->log_from, evidence.log_from);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
}

// Found by the fuzz target `store`: orphans of a look that never was were read, and gone when kept again.
TEST(Store, LeavingsWithoutALookAreNone) {
  Scratch scratch;
  const std::string path = scratch.file("t.evidence");
  write_file(path,
             R"({"schema": "memtrace.evidence/1", "left": {"unseen": 2, "orphans": [{"name": "psm_1"}]}})");
  const auto read = load(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->left, ShmLeftovers{});
}

TEST(Store, HostileFilesAreNone) {
  Scratch scratch;
  const std::string path = scratch.file("t.evidence");
  EXPECT_FALSE(load(path));
  for (const char* text :
       {"", "[]", "{}", "{\"schema\": 3}", "{\"schema\": \"memtrace.evidence/1\"", "\xff\xfe"}) {
    write_file(path, text);
    EXPECT_FALSE(load(path)) << text;
  }
  write_file(path,
             R"({"schema": "memtrace.evidence/1", "kills": [1, null, {"pid": "x", "when": 4}], "groups": 7})");
  const auto read = load(path);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->groups.empty());
}

} // namespace
} // namespace memtrace::evidence
