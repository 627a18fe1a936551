// Purpose: budgets against a report written by hand: the figures, the lines that hold them, and the forms for
// CI.
#include "analyzer/budget/verdict_formats.h"

#include <gtest/gtest.h>

#include "analyzer/budget/baseline.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::budget {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

// Two ranks. Rank 1 has the higher peak; 3 MiB of its live bytes are an untouched reservation.
Json job() {
  return Json::parse(R"({"schema": "memtrace.report/1", "findings": [], "processes": [
    {"pid": 10, "rank": 0, "peaks": [
       {"memory": "host", "measure": "live", "bytes": 5242880, "phase": "forward", "step": 1, "at_peak": []}],
     "phases": [], "findings": []},
    {"pid": 11, "rank": 1,
     "peaks": [
       {"memory": "host", "measure": "live", "bytes": 11534336, "reserved_untouched": 3145728,
        "phase": "step", "step": 0, "at_peak": [
          {"bytes": 4194304, "site": {"frames": [
             {"function": "zeros", "file": "/torch/optim.py", "line": 9, "lang": "python"},
             {"function": "main", "file": "/src/train.py", "line": 31, "lang": "python", "own": true},
             {"function": "<module>", "file": "/src/train.py", "line": 90, "lang": "python", "own": true}]}},
          {"bytes": 2097152, "site": {"frames": [
             {"function": "main", "file": "/src/train.py", "line": 31, "lang": "python", "own": true}]}},
          {"bytes": 1048576, "site": {"frames": [
             {"function": "read", "file": "/src/a,b.py", "line": 4, "lang": "python"}]}},
          {"bytes": 1048576, "site": null}]}],
     "phases": [
       {"memory": "host", "phase": "clip", "path": ["step", "clip"], "step": 7, "peak_live": 6291456,
        "tensor": {"peak_live": 1, "at_peak": []}, "at_peak": [
          {"bytes": 34603008, "untouched": 33554432, "site": {"id": "s1"}}]}],
     "sites": {"s1": {"frames": [{"function": "clip", "file": "/src/clip.py", "line": 5, "own": true}]}},
     "phase_peaks": [
       {"memory": "host", "path": ["step", "clip"],
        "live": {"bytes": 39845888, "step": 7, "reserved_untouched": 33554432},
        "tensor": {"bytes": 3145728, "step": 12}}],
     "findings": [
       {"id": "leak-per-step", "memory": "host", "bytes": 1048576, "site": {"frames": [
          {"function": "log", "file": "/src/train.py", "line": 40, "lang": "python", "own": true}]}},
       {"id": "leak-per-event", "memory": "host", "bytes": 2048, "site": null},
       {"id": "leak-per-step", "memory": "cuda:0", "bytes": 7, "site": null}]}]})");
}

BudgetVerdict judged(const std::string& text) {
  return judge(job(), {parse_budget(text, "--max")}).front();
}

TEST(Verdicts, APeakIsThatOfTheHighestProcessWithoutUntouchedReservations) {
  const BudgetVerdict one = judged("peak() <= 8M");
  EXPECT_EQ(one.measured.figure, 8 * kMiB);
  EXPECT_EQ(one.measured.process, "pid 11, rank 1");
  EXPECT_TRUE(one.kept());
  EXPECT_FALSE(judged("peak() <= 8388607").kept());
}

TEST(Verdicts, NameTheOwnLinesThatHoldTheMost) {
  const std::vector<Holder> holders = judged("peak() <= 1M").measured.holders;
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_EQ(holders[0].file, "/src/train.py");
  EXPECT_EQ(holders[0].line, 31);
  EXPECT_EQ(holders[0].function, "main");
  EXPECT_EQ(holders[0].bytes, 6 * kMiB);
  EXPECT_EQ(holders[1].line, 4);
}

TEST(Verdicts, APhaseHasItsHighestStepWithoutUntouchedReservations) {
  const Measured live = judged("phase(update/clip) <= 1").measured;
  EXPECT_EQ(live.figure, 6 * kMiB);
  ASSERT_EQ(live.holders.size(), 1u);
  EXPECT_EQ(live.holders[0].file, "/src/clip.py");
  EXPECT_EQ(live.holders[0].bytes, kMiB);
  const Measured tensor = judged("phase(step/clip, host, tensor) <= 1").measured;
  EXPECT_EQ(tensor.figure, 3 * kMiB);
  EXPECT_EQ(tensor.place, "step/clip 12");
  EXPECT_TRUE(tensor.holders.empty()); // the report has no row of step 12
}

TEST(Verdicts, ALeakIsTheSumOfItsFindingsInOneMemory) {
  EXPECT_EQ(judged("leak() <= 0").measured.figure, kMiB + 2048);
  EXPECT_EQ(judged("leak() <= 0").measured.place, "each step and event");
  EXPECT_EQ(judged("findings() <= 0").measured.figure, 3);
}

TEST(Verdicts, RefuseABudgetThatComparesNothing) {
  for (const char* const text : {"peak(cuda:3) <= 1G", "peak(host, used) <= 1G", "phase(loda) <= 1G",
                                 "phase(other) <= 1G", "leak(cuda:3) <= 0"})
    EXPECT_THROW(judged(text), report::UsageError) << text;
  try {
    judged("phase(loda) <= 1G");
  } catch (const report::UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--max 'phase(loda, host, live) <= 1024.00 MiB': not in this trace; it has step/clip");
  }
}

TEST(Verdicts, AreWrittenAsText) {
  EXPECT_EQ(verdicts_text(
                judge(job(), {parse_budget("peak() <= 6M", ""), parse_budget("phase(step/clip) <= 1G", "")}),
                {}, true),
            "BROKEN  peak(host, live) <= 6.00 MiB: 8.00 MiB in update 0 (pid 11, rank 1), 2.00 MiB too much\n"
            "        /src/train.py:31 main, 6.00 MiB\n"
            "        /src/a,b.py:4 read, 1.00 MiB\n"
            "kept    phase(step/clip, host, live) <= 1024.00 MiB: 6.00 MiB in step/clip 7 (pid 11, rank 1)\n"
            "1 of 2 budgets is broken.\n");
}

TEST(Verdicts, SayHowManyAreBroken) {
  EXPECT_EQ(verdicts_text({judged("peak() <= 1G")}, {}, false), "The budget is kept.\n");
  EXPECT_EQ(verdicts_text({judged("peak() <= 1G"), judged("peak() <= 2G")}, {}, false),
            "All 2 budgets are kept.\n");
  EXPECT_TRUE(verdicts_text({judged("peak() <= 1M")}, {}, false).ends_with("The budget is broken.\n"));
}

TEST(Verdicts, AreWrittenForGitHub) {
  EXPECT_EQ(
      github_text({judged("peak() <= 6M"), judged("leak() <= 1G")}, "/src"),
      "::error file=train.py,line=31,title=memory budget::peak(host, live) <= 6.00 MiB: 8.00 MiB in update 0 "
      "(pid 11, rank 1), 2.00 MiB too much\n");
  BudgetVerdict odd = judged("peak() <= 6M");
  odd.measured.holders.front().file = "a,b:c%\n.py";
  EXPECT_TRUE(github_text({odd}, "/src").starts_with("::error file=a%2Cb%3Ac%25?.py,line=31,"));
}

TEST(Verdicts, AreWrittenForJUnit) {
  BudgetVerdict odd = judged("leak() <= 0");
  odd.measured.holders.front().function = "<lambda> & \"x\"\x01";
  const std::string text = junit_text({odd, judged("peak() <= 1G")});
  EXPECT_NE(text.find("tests=\"2\" failures=\"1\""), std::string::npos);
  EXPECT_NE(text.find("&lt;lambda&gt; &amp; &quot;x&quot;?"), std::string::npos);
  EXPECT_EQ(text.find('\x01'), std::string::npos);
}

TEST(Baseline, SetsABudgetForEachPeakPhaseAndLeak) {
  std::vector<std::string> texts;
  for (const MemoryBudget& one : budgets_of(job(), 0.5)) texts.push_back(one.text);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"peak(host, live) <= 12.00 MiB (baseline 8.00 MiB)",
                                      "leak(host) <= 1.50 MiB (baseline 1.00 MiB)",
                                      "phase(step/clip, host, live) <= 9.00 MiB (baseline 6.00 MiB)",
                                      "phase(step/clip, host, tensor) <= 4.50 MiB (baseline 3.00 MiB)"}));
}

TEST(Baseline, LetsLiveBytesGrowByAMegabyteAndTensorsByNothing) {
  const std::vector<MemoryBudget> all = budgets_of(job(), 0);
  EXPECT_EQ(all[0].limit, 9 * kMiB);
  EXPECT_EQ(all[3].limit, 3 * kMiB);
}

TEST(Baseline, SurvivesFieldsOfOtherTypes) {
  for (const char* const text :
       {R"({"processes": 5})", R"({"processes": [5, null, {"peaks": 7, "phases": "x"}]})",
        R"({"processes": [{"peaks": [{"memory": 1, "measure": [], "bytes": "x"}]}]})",
        R"({"processes": {"peaks": [{"memory": "host", "measure": "live", "bytes": 1e300}]}})"}) {
    const Json report = Json::parse(text);
    EXPECT_LE(measure(report, parse_budget("peak() <= 1", "")).figure, 0) << text;
    budgets_of(report, 0.05);
  }
}

} // namespace
} // namespace memtrace::budget
