// Purpose: verdicts: each needs its witness, and says no more than that.
#include <gtest/gtest.h>

#include "analyzer/findings/all_findings.h"
#include "analyzer/job/evidence_query.h"
#include "analyzer/print/json/document.h"
#include "analyzer/print/text/postmortem_text.h"
#include "builder.h"
#include "parsed.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::EventType;
using tests::Kind;
using tests::Scratch;

using tests::kMiB;
using tests::kSecond;

class Deaths : public testing::Test {
 protected:
  void SetUp() override {
    builder.note("pids=4026531836").note("boot=of another machine");
    const std::uint32_t user = builder.python_frame("<module>", "/home/u/train.py", 3, 0);
    make = builder.python_frame("__init__", "/l/site-packages/torch/nn/modules/linear.py", 109, user);
    read = builder.python_frame("load", "/l/site-packages/torch/serialization.py", 1601, user);
  }

  // A model of 100 MiB, and a state dict of it that is being read: 60 MiB so far.
  void loading() {
    builder.begin("load");
    for (std::uint64_t i = 0; i < 10; ++i) builder.tensor(0x1000 + i, 10 * kMiB, make);
    sample(105);
    for (std::uint64_t i = 0; i < 6; ++i) builder.tensor(0x2000 + i, 10 * kMiB, read);
  }
  void sample(std::uint64_t mib) {
    builder.wait(kSecond / 10).sample(mib * kMiB, 0, 0, 0);
    group(mib);
  }
  void group(std::uint64_t mib, std::uint64_t kills = 0) {
    builder.put(EventType::sample_cgroup, 0, 0,
                {builder.text("/sys/fs/cgroup/memory/job"), mib * kMiB, 165 * kMiB, mib * kMiB, 0, kills});
  }

  // The kernel's word for it.
  void killed(std::uint64_t pid, std::uint64_t mib) {
    evidence::Kill kill;
    kill.pid = pid;
    kill.when.boot = static_cast<double>(builder.now()) / 1e9;
    kill.constraint = "CONSTRAINT_MEMCG";
    kill.limited = kill.group = "/job";
    kill.anon = mib * kMiB;
    kill.limit = 165 * kMiB;
    kill.words = "Killed process";
    outside.kills.push_back(kill);
  }

  ProcessAnalysis& open() {
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    evidence::Subject subject = subject_of(*trace);
    subject.evidence = &outside;
    apply_evidence(end, evidence::match({subject})[0], outside);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), options);
    return *analysis_;
  }
  Json json() {
    Document document(options, Schema::postmortem);
    ProcessAnalysis& analysis = open();
    document.add(analysis, find(analysis));
    return tests::parsed(std::move(document))["processes"][0];
  }
  std::string text(const std::vector<JobPeer>& others = {}) {
    ProcessAnalysis& analysis = open();
    return postmortem_text(analysis, find(analysis), others, {});
  }
  static std::vector<std::string> findings(const Json& process) {
    std::vector<std::string> out;
    for (const Json& finding : process["findings"]) out.push_back(finding["id"]);
    return out;
  }

  Builder builder;
  evidence::Evidence outside;
  std::uint32_t make = 0, read = 0;
  Options options;

 private:
  Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

using Ids = std::vector<std::string>;

TEST_F(Deaths, AKillWhileASecondCopyIsRead) {
  loading();
  killed(4242, 160);
  const Json process = json();
  EXPECT_EQ(process["end"]["how"], "oom_kill");
  EXPECT_FALSE(process["end"]["evidence"].empty());
  EXPECT_EQ(findings(process), (Ids{"second-copy-on-load", "oom-kill"}));
  EXPECT_EQ(process["findings"][0]["bytes"], 60 * kMiB);
  const Json& death = process["death"];
  EXPECT_EQ(death["phase"], "load");
  EXPECT_EQ(death["step"], nullptr);
  EXPECT_EQ(death["live"], 16 * (10 * kMiB + 8)); // as given: 8 bytes more each
  EXPECT_EQ(death["tensor"], 160 * kMiB);
  EXPECT_EQ(death["limit"], 165 * kMiB);
  EXPECT_EQ(death["rss"]["anon"], 160 * kMiB);
  EXPECT_EQ(death["filling"]["bytes"], 10 * kMiB + 8);
  // 105 MiB were resident with 100 of them live; at the kill 160, and 150 without the last block.
  EXPECT_EQ(death["filling"]["touched"], 5 * kMiB - 5 * 8);
  EXPECT_EQ(death["last"].size(), 8u);
  EXPECT_EQ(death["held_tensor"][0]["role"], "parameter");
  EXPECT_EQ(death["held_tensor"][0]["bytes"], 100 * kMiB);
  EXPECT_EQ(death["held_tensor"][1]["role"], "staging");
}

TEST_F(Deaths, SayWhatTheyAreInTheirFirstLine) {
  loading();
  EXPECT_TRUE(text().starts_with("Ended, cause unknown.")) << text();
  killed(4242, 160);
  EXPECT_TRUE(text().starts_with("Killed for memory (certain) in load: a state dict of 60.00 MiB")) << text();
}

// As after the loss of the ring file: what it held when it was killed is not known.
TEST_F(Deaths, AfterATimeWithoutRecordsHaveNoCause) {
  loading();
  builder.wait(8 * kSecond);
  killed(4242, 160);
  const std::string said = text();
  EXPECT_TRUE(said.starts_with("Killed for memory (certain), 8.0 s after the last record of this trace."))
      << said;
  EXPECT_NE(said.find("held at the last record"), std::string::npos) << said;
  for (const char* word : {"at death", "Fix", "would fit", "needed:", "being filled"})
    EXPECT_EQ(said.find(word), std::string::npos) << said;
  EXPECT_NEAR(json()["death"]["unrecorded"].get<double>(), 8, 0.01);
}

TEST_F(Deaths, WithoutAWitnessAreUnknown) {
  loading();
  group(164);
  killed(99, 160); // another process
  const Json process = json();
  EXPECT_EQ(process["end"]["how"], "unknown");
  EXPECT_TRUE(findings(process).empty());
  EXPECT_NE(process["death"], nullptr);
  EXPECT_EQ(process["death"]["filling"], nullptr);
}

TEST_F(Deaths, ByTheCounterOfTheirGroup) {
  loading();
  sample(160);
  evidence::CgroupState counter;
  counter.path = "/sys/fs/cgroup/memory/job";
  counter.oom_kills = 1;
  outside.groups.push_back(counter);
  outside.log = "Operation not permitted";
  const Json process = json();
  EXPECT_EQ(process["end"]["how"], "oom_kill");
  EXPECT_EQ(process["findings"][1]["id"], "oom-kill");
  EXPECT_EQ(process["findings"][1]["confidence"], "likely");
  EXPECT_TRUE(text().starts_with("Killed for memory (likely) in load")) << text();
}

TEST_F(Deaths, OfAContainerThatSaysSo) {
  loading();
  evidence::Statement statement;
  statement.source = "pod";
  statement.who = "pod a, container main";
  statement.reason = "OOMKilled";
  statement.out_of_memory = true;
  statement.code = 137;
  statement.ended.unix = static_cast<double>(Builder::kUnix) / 1e9 + 1;
  outside.statements = {statement};
  EXPECT_EQ(json()["end"]["how"], "oom_kill");
  outside.statements[0].reason = "Error"; // SIGKILL, and nobody says why
  outside.statements[0].out_of_memory = false;
  EXPECT_EQ(json()["end"]["how"], "unknown");
  EXPECT_EQ(json()["end"]["code"], 9);
  outside.statements[0].code = 139;
  EXPECT_EQ(json()["end"]["how"], "signal");
  EXPECT_EQ(json()["end"]["code"], 11);
}

TEST_F(Deaths, AreNoneWhereAProgramEnds) {
  loading();
  builder.exit(1);
  const Json process = json();
  EXPECT_EQ(process["end"]["how"], "exit");
  EXPECT_EQ(process["death"], nullptr);
  EXPECT_TRUE(findings(process).empty());
  EXPECT_TRUE(text().starts_with("No death to explain: it exited with 1.")) << text();
}

TEST_F(Deaths, GivingUpWhereAnAllocationFailed) {
  loading();
  builder.put(EventType::sample_address_space, 0, 0, {900 * kMiB, 1000 * kMiB, 0, ~std::uint64_t{0}, 0, 0});
  builder.put(EventType::failure, static_cast<std::uint8_t>(Kind::heap), 0,
              {200 * kMiB, 12, read, 160 * kMiB, ~std::uint64_t{0}, ~std::uint64_t{0}});
  builder.exit(1);
  const Json process = json();
  EXPECT_EQ(process["end"]["how"], "exit");
  ASSERT_EQ(findings(process)[0], "allocation-failed");
  EXPECT_EQ(process["findings"][0]["bytes"], 200 * kMiB);
  EXPECT_EQ(process["death"]["limit"], 1000 * kMiB);
  EXPECT_EQ(process["death"]["limit_of"], "RLIMIT_AS");
  EXPECT_NE(text().find("and it exited with 1. The cause: a state dict of 60.00 MiB was held beside the model"),
            std::string::npos)
      << "the line `Fix` is about it: " << text();
}

TEST_F(Deaths, ByTheLimitThatTheFailureNames) {
  loading();
  // As at the first sample of a program that grew since by what no allocator was asked for.
  builder.put(EventType::sample_address_space, 0, 0,
              {300 * kMiB, ~std::uint64_t{0}, 200 * kMiB, 1000 * kMiB, 0, 0});
  builder.put(EventType::failure, static_cast<std::uint8_t>(Kind::heap), 0,
              {200 * kMiB, 12, read, 160 * kMiB, 30 * kMiB, 1000 * kMiB});
  builder.exit(1);
  const Death& death = *open().death;
  EXPECT_EQ(death.limit, 1000 * kMiB);
  EXPECT_EQ(death.limit_of, "RLIMIT_DATA");
  EXPECT_EQ(death.charge, 970 * kMiB);
}

TEST_F(Deaths, WhatWasFreedOnTheWayOutWasHeldAtTheFailure) {
  loading();
  builder.put(EventType::failure, static_cast<std::uint8_t>(Kind::heap), 0,
              {200 * kMiB, 12, read, 160 * kMiB, ~std::uint64_t{0}, ~std::uint64_t{0}});
  const std::int64_t live = json()["death"]["live"];
  for (std::uint64_t i = 0; i < 10; ++i) builder.tensor_death(0x1000 + i);
  builder.exit(1);
  const Json process = json();
  EXPECT_EQ(process["death"]["live"], live);
  std::int64_t held = 0;
  for (const Json& row : process["death"]["held"]) held += row["bytes"].get<std::int64_t>();
  EXPECT_EQ(held, live);
}

TEST_F(Deaths, ByAbort) {
  loading();
  builder.exit(6, format::EndHow::signal);
  const Json process = json();
  EXPECT_EQ(process["end"]["how"], "signal");
  EXPECT_EQ(process["end"]["code"], 6);
  EXPECT_EQ(process["end"]["evidence"][0], "trace: it called abort()");
}

TEST_F(Deaths, AnAbortAfterWhichItsThreadWentOnIsNone) {
  loading();
  builder.exit(6, format::EndHow::signal).birth(0x7000000, kMiB);
  const Json process = json();
  EXPECT_EQ(process["end"]["how"], "unknown");
  EXPECT_EQ(process["end"]["evidence"][0], "trace: it called abort() before, and went on");
}

TEST_F(Deaths, AnExecThatFailedIsNoEnd) {
  loading();
  builder.exit(0, format::EndHow::exec).birth(0x7000000, kMiB);
  EXPECT_EQ(json()["end"]["how"], "unknown") << "its thread went on";
}

// A kill frees memory of one host, so a larger process of another host did not make it necessary.
TEST_F(Deaths, NameTheLargestProcessOfTheirHost) {
  loading();
  killed(4242, 100);
  trace::ProcessSample sample;
  ProcessEnd end;
  end.how = "exit";
  sample.anon = 999 * kMiB;
  const JobPeer far{7, "worker", trace::kNoRank, end, 0.5, sample, "", false};
  sample.anon = 300 * kMiB;
  const JobPeer near{8, "worker", trace::kNoRank, end, 0.5, sample, ""};
  const std::string named =
      "the largest process of the job on this host then: worker pid 8, 300.00 MiB anonymous";
  EXPECT_NE(text({far, near}).find(named), std::string::npos) << text({far, near});
  EXPECT_EQ(text({far}).find("the largest process"), std::string::npos);
}

TEST_F(Deaths, OfAJobAddUpToTheChargeOfTheCgroup) {
  loading();
  group(164);
  builder.put(EventType::sample_charge, 0, 0, {~std::uint64_t{0}, kMiB, 0, 0, 0, 0});
  killed(4242, 100);
  const auto other = [](std::uint32_t pid, std::uint64_t mib, const char* directory) {
    trace::ProcessSample sample;
    sample.anon = mib * kMiB;
    ProcessEnd end;
    end.how = "unknown";
    return JobPeer{pid, "worker", trace::kNoRank, end, 0.5, sample, directory};
  };
  const JobLedger ledger = job_ledger(
      open(), {other(7, 20, "/sys/fs/cgroup/memory/job"), other(8, 40, "/sys/fs/cgroup/memory/job/below"),
               other(9, 999, "/sys/fs/cgroup/memory/jobs")});
  EXPECT_EQ(ledger.of, "/job");
  EXPECT_EQ(ledger.total, 164 * kMiB);
  EXPECT_EQ(ledger.residual, static_cast<std::int64_t>((164 - 100 - 20 - 40 - 1) * kMiB));
  ASSERT_EQ(ledger.lines.size(), 6u); // four processes, page cache, kernel
  EXPECT_EQ(ledger.lines[0].name, "main pid 4242");
  EXPECT_EQ(ledger.lines[1].name, "worker pid 9");
  EXPECT_FALSE(ledger.lines[1].counted);
  EXPECT_NE(ledger.lines[2].note.find(": a consequence"), std::string::npos);
}

TEST_F(Deaths, TheChargeOfAJobIsOfTheMomentOfItsKill) {
  loading();
  group(30); // half a second before
  killed(4242, 100);
  outside.kills[0].usage = 164 * kMiB;
  EXPECT_EQ(job_ledger(open(), {}).total, 164 * kMiB);
  outside.kills[0].limited = "/"; // of an ancestor the usage is another one
  EXPECT_NE(job_ledger(open(), {}).total, 164 * kMiB);
}

TEST_F(Deaths, AFailureLongBeforeIsNoCause) {
  loading();
  builder.put(EventType::failure, static_cast<std::uint8_t>(Kind::heap), 0, {200 * kMiB, 12, read, 0, 0, 0});
  builder.wait(60 * kSecond).exit(1);
  EXPECT_EQ(json()["death"], nullptr);
}

TEST_F(Deaths, OfAFullShm) {
  loading();
  builder.put(EventType::sample_machine, 0, 0, {0, 0, 0, 0, 50 * kMiB, 64 * kMiB});
  builder.birth(0x7000000, 40 * kMiB, Kind::shm, 0, read);
  const Json process = json();
  EXPECT_EQ(process["end"]["how"], "unknown");
  ASSERT_EQ(findings(process), Ids{"shm-full"});
  EXPECT_EQ(process["findings"][0]["confidence"], "likely");
}

TEST_F(Deaths, LongFullBlocksAreNotBeingFilled) {
  loading();
  for (std::uint64_t i = 0; i < 30; ++i) builder.birth(0x9000 + i, kMiB / 2, Kind::heap, 0, make);
  killed(4242, 160);
  EXPECT_EQ(json()["death"]["filling"], nullptr);
}

} // namespace
} // namespace memtrace::report
