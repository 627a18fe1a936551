// Purpose: evidence, ends and files of attempts without private names, which still say the same.
#include "analyzer/pack/redact/redacted_files.h"

#include <gtest/gtest.h>

#include "analyzer/evidence/evidence_store.h"
#include "analyzer/evidence/watched_ends.h"

namespace memtrace::redact {
namespace {

TEST(RedactedFiles, AKillIsStillThatOfTheCgroupOfTheTrace) {
  PrivateNames names;
  evidence::Evidence before;
  before.closed = before.asked = true;
  evidence::Kill kill;
  kill.pid = 7;
  kill.name = "secret_trainer_";
  kill.limited = "/kubepods/burstable/pod-secret";
  kill.group = "/kubepods/burstable/pod-secret/box-secret";
  kill.words =
      "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/kubepods/burstable/"
      "pod-secret,task=secret_trainer_,pid=7 "
      "Killed process 7 (secret_trainer_) total-vm:1kB, cpuset=box-secret";
  before.kills.push_back(kill);
  before.groups.push_back({.path = "/sys/fs/cgroup/memory/kubepods/burstable/pod-secret/box-secret"});
  before.files.emplace_back("dmesg-of-secret.txt");
  evidence::Statement statement;
  statement.source = "pod";
  statement.who = "pod secret-0, container main";
  statement.host = "secret-host";
  before.statements.push_back(statement);
  evidence::ManagerKill by_manager;
  by_manager.manager = "systemd-oomd";
  by_manager.group = kill.group;
  by_manager.host = "secret-host";
  by_manager.words = "Killed /kubepods/burstable/pod-secret due to memory pressure";
  before.manager_kills.push_back(by_manager);
  const evidence::Evidence after = redacted_evidence(before, names);
  EXPECT_EQ(evidence::text_of(after).find("secret"), std::string::npos) << evidence::text_of(after);
  EXPECT_EQ(names.path("/sys/fs/cgroup/memory/kubepods/burstable/pod-secret/box-secret"),
            "/sys/fs/cgroup/memory" + after.kills[0].group);
  EXPECT_EQ(after.kills[0].name, "program1");
  EXPECT_NE(after.kills[0].words.find("Killed process 7 (program1) total-vm:1kB"), std::string::npos);
  EXPECT_EQ(after.kills[0].pid, 7u);
  EXPECT_EQ(after.manager_kills[0].group, after.kills[0].group) << "it is still about the same cgroup";
  EXPECT_EQ(after.manager_kills[0].host, after.statements[0].host);
  EXPECT_TRUE(after.closed);
}

TEST(RedactedFiles, EndsNameTheTracesByTheirNewNames) {
  PrivateNames names;
  const std::string lines =
      R"({"schema":"memtrace.ends/1","host":"n1","pid":7,"trace":"n1-7-18ea1cccb39519e6","how":"signal","code":9,)"
      R"("unix":1.5,"seen":"wait","secret":"n1"})"
      "\n{\"torn";
  const std::vector<evidence::End> ends = evidence::parse_ends(redacted_ends(lines, names));
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].host, "host1");
  EXPECT_EQ(ends[0].trace, "host1-7-18ea1cccb39519e6");
  EXPECT_EQ(ends[0].code, 9);
  EXPECT_EQ(redacted_ends(lines, names).find("n1"), std::string::npos);
}

TEST(RedactedFiles, TheFileOfAnAttemptHasNoHashOfItsCommand) {
  PrivateNames names;
  EXPECT_EQ(
      redacted_job("job=secret\nhost=n1\nattempt=2\nbegan=18ea\ncommand=abc\nfailed=12\nother=n1\nattempt=n1\n",
                   names),
      "job=job1\nhost=host1\nattempt=2\nbegan=18ea\nfailed=12\n");
}

} // namespace
} // namespace memtrace::redact
