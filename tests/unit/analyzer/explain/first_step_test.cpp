// Purpose: tests what the first step added for good, and what only it needed, also where memory grows.
#include "analyzer/explain/first_step.h"

#include <gtest/gtest.h>

#include "builder.h"

namespace memtrace::report {
namespace {

using tests::Builder;

constexpr std::uint64_t kMib = 1 << 20;

// Step 0 makes states of 40 MiB, and a copy of 24 MiB that it frees. Each step makes activations of 10 MiB, and
// keeps 2 MiB at one line.
class FirstSteps : public testing::Test {
 protected:
  FirstSteps() {
    const std::uint32_t states = builder_.python_frame("main", "/home/u/train.py", 31, 0);
    const std::uint32_t copy = builder_.python_frame("main", "/home/u/train.py", 24, 0);
    const std::uint32_t activations = builder_.python_frame("main", "/home/u/train.py", 29, 0);
    const std::uint32_t leak = builder_.python_frame("main", "/home/u/train.py", 40, 0);
    builder_.begin("load").tensor(1, 100 * kMib).end("load").parameters(25 << 20, 100 * kMib, 1);
    for (std::uint64_t step = 0; step < 6; ++step) {
      builder_.begin("forward")
          .tensor(2, 10 * kMib, activations)
          .tensor(100 + step, 2 * kMib, leak)
          .end("forward");
      builder_.begin("step");
      if (step == 0) builder_.tensor(3, 40 * kMib, states).tensor(4, 24 * kMib, copy).tensor_death(4);
      builder_.tensor(5, kMib).tensor_death(5).end("step").tensor_death(2);
    }
    builder_.exit(0);
    tests::write_file(scratch_.file("t.memtrace"), builder_.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
  }

  // Returns the stacks of the blocks of one line.
  std::vector<format::StackId> stacks_of(const std::string& line) {
    std::vector<format::StackId> out;
    for (const auto& [instant, alive] : analysis_->sets)
      for (const replay::Holding& holding : alive)
        if (holding.stack != format::StackId{} && analysis_->symbolizer->site(holding.stack).line() == line)
          out.push_back(holding.stack);
    return out;
  }

  Builder builder_;
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

TEST_F(FirstSteps, AddStatesForGoodAndACopyForOnce) {
  ASSERT_EQ(analysis_->steady.steps.size(), 5u) << "each step adds the same, from a higher level";
  const FirstStep found = compare_first_step(*analysis_, 0, stacks_of("train.py:40"));
  EXPECT_EQ(found.step, replay::Step{0});
  EXPECT_EQ(found.for_good, static_cast<std::int64_t>(40 * kMib));
  EXPECT_EQ(found.only_then, static_cast<std::int64_t>(24 * kMib));
  ASSERT_EQ(found.good_rows.size(), 1u);
  EXPECT_EQ(found.good_rows[0].line, "train.py:31");
  ASSERT_EQ(found.only_then_rows.size(), 1u);
  EXPECT_EQ(found.only_then_rows[0].line, "train.py:24");
}

TEST_F(FirstSteps, CountALeakOnlyIfItIsNotNamedAsOne) {
  EXPECT_EQ(compare_first_step(*analysis_, 0, {}).for_good, static_cast<std::int64_t>(42 * kMib));
}

} // namespace
} // namespace memtrace::report
