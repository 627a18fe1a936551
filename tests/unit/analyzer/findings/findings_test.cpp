// Purpose: a finding where the trace proves one, and none where it does not.
#include "analyzer/findings/all_findings.h"

#include <gtest/gtest.h>

#include <string_view>

#include "analyzer/print/text/report_text.h"
#include "builder.h"
#include "own_module.h"
#include "tests/unit/sizes.h"

// Named as PyTorch names its operators: the finding knows them by their symbols.
namespace at::_ops {
struct _foreach_sqrt {
  __attribute__((noinline, used)) static int call(int x) {
    asm volatile("" ::: "memory");
    return x + 1;
  }
};
} // namespace at::_ops

namespace memtrace::report {
namespace {

using tests::Builder;

using tests::kMiB;

// Counts the replays of a trace that is so short that each replay reports its progress once.
class ReplayCount : public trace::Progress {
 public:
  void at(const char* what, std::uint64_t, std::uint64_t) override {
    replays += std::string_view(what) == "replaying" ? 1 : 0;
  }
  void on(std::string) override {}
  void clear() override {}
  int replays = 0;
};

class FindingsOfATrace : public testing::Test {
 protected:
  FindingsOfATrace() {
    const tests::OwnModule me = tests::own_module();
    builder.module("/proc/self/exe", me.bias, call() & ~std::uint64_t{4095}, 2, me.build_id);
    user = builder.python_frame("main", "/home/u/train.py", 3, 0);
    plain = builder.python_frame("step", "/l/site-packages/torch/optim/adam.py", 171, user);
    foreach
      = foreach_in(774);
    builder.begin("load").tensor(1, 50 * kMiB, user).tensor(2, 50 * kMiB, user).end("load");
    builder.parameters(25 * kMiB, 100 * kMiB, 2);
  }

  static std::uint64_t call() { return reinterpret_cast<std::uint64_t>(&at::_ops::_foreach_sqrt::call); }

  // Returns the stack of a foreach call in a line of Adam.
  std::uint32_t foreach_in(std::uint32_t line) {
    return builder.native_frame(
        call() + 1, builder.python_frame("step", "/l/site-packages/torch/optim/adam.py", line, user));
  }

  // A forward with a peak of its own, then an optimizer's step with one list of two temporaries.
  void train(int steps, std::uint64_t activations, std::uint64_t temporary, const char* phase = "step") {
    for (int i = 0; i < steps; ++i) {
      builder.begin("forward").tensor(3, activations).tensor_death(3).end("forward");
      builder.begin(phase).tensor(4, temporary, foreach).tensor(5, temporary, foreach).wait(40'000'000);
      builder.tensor_death(4).tensor_death(5).end(phase);
    }
  }

  ProcessAnalysis& open() {
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"), &count);
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    return *analysis_;
  }

  Builder builder;
  ReplayCount count;
  std::uint32_t user = 0;
  std::uint32_t plain = 0;
  std::uint32_t foreach = 0;

 private:
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

TEST_F(FindingsOfATrace, ForeachTemporariesThatMakeThePeak) {
  train(3, 10 * kMiB, 50 * kMiB);
  ProcessAnalysis& analysis = open();
  const std::vector<Finding> findings = find(analysis);
  ASSERT_EQ(findings.size(), 1u);
  const Finding& finding = findings[0];
  EXPECT_EQ(finding.id, "foreach-temporaries");
  EXPECT_EQ(finding.bytes, static_cast<std::int64_t>(100 * kMiB));
  EXPECT_EQ(finding.title, "The optimizer's temporaries set the peak: 100.00 MiB = 1.000 P, alive 40 ms");
  EXPECT_EQ(finding.sentences.front().rfind("torch._foreach_sqrt at torch/optim/adam.py:774", 0), 0u)
      << finding.sentences.front();
  EXPECT_EQ(finding.step, replay::Step{0});
  EXPECT_TRUE(finding.certain);
  EXPECT_NE(finding.remedy.find("fused=True: -90.00 MiB at the peak, -100.00 MiB in the step"),
            std::string::npos);
  EXPECT_EQ(finding.remedy.find("foreach=False"), std::string::npos)
      << "two tensors, two temporaries: nothing to gain";
  EXPECT_NE(process_text(analysis, findings, Options{}, TextStyle{}).find("\n1. " + finding.title + "\n"),
            std::string::npos);
}

TEST_F(FindingsOfATrace, NoneWhereTheRemedyHardlyLowersThePeak) {
  train(2, 97 * kMiB, 50 * kMiB); // 200 with the temporaries, 197 without
  EXPECT_TRUE(find(open()).empty());
}

TEST_F(FindingsOfATrace, NoneWhereThePeakIsElsewhere) {
  train(2, 300 * kMiB, 50 * kMiB);
  EXPECT_TRUE(find(open()).empty());
}

TEST_F(FindingsOfATrace, NoneOutsideAnOptimizersStep) {
  train(2, 10 * kMiB, 50 * kMiB, "clip");
  EXPECT_TRUE(find(open()).empty());
}

TEST_F(FindingsOfATrace, NoneForWhatTheStepKeeps) {
  builder.begin("forward").end("forward").begin("step").tensor(4, 100 * kMiB, foreach).end("step");
  EXPECT_TRUE(find(open()).empty());
}

TEST_F(FindingsOfATrace, NoneForOtherTemporaries) {
  foreach
    = plain;
  train(2, 10 * kMiB, 50 * kMiB);
  EXPECT_TRUE(find(open()).empty());
}

TEST_F(FindingsOfATrace, FiveTakeOneReplayTogether) {
  constexpr std::uint32_t kLists = 5;
  builder.begin("step");
  for (std::uint32_t i = 0; i < kLists; ++i) builder.tensor(10 + i, 50 * kMiB, foreach_in(780 + i));
  for (std::uint32_t i = 0; i < kLists; ++i) builder.tensor_death(10 + i);
  builder.end("step");
  ProcessAnalysis& analysis = open();
  const int before = count.replays;
  EXPECT_EQ(before, 2) << "the levels and the state at the end, the blocks alive at peaks";
  EXPECT_EQ(find(analysis).size(), kLists);
  EXPECT_EQ(count.replays - before, 1);
}

TEST_F(FindingsOfATrace, WithoutACandidateTakeNoReplay) {
  builder.begin("step").tensor(10, 50 * kMiB, plain).tensor_death(10).end("step");
  ProcessAnalysis& analysis = open();
  const int before = count.replays;
  EXPECT_GT(before, 0);
  EXPECT_TRUE(find(analysis).empty());
  EXPECT_EQ(count.replays, before);
}

TEST_F(FindingsOfATrace, AreOnlyLikelyWhereEventsWereLost) {
  train(1, 10 * kMiB, 50 * kMiB);
  builder.note("lost.disk=1");
  ASSERT_EQ(find(open()).size(), 1u);
  EXPECT_FALSE(find(open())[0].certain);
}

} // namespace
} // namespace memtrace::report
