// Purpose: tests that graphs which no backward uses are found, and that graphs of training are not.
#include "analyzer/findings/peak/unused_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/findings/all_findings.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::kMiB;

class UnusedGraph : public testing::Test {
 protected:
  UnusedGraph() {
    layer = builder.python_frame("evaluate", "/home/u/eval.py", 27, 0);
    builder.begin("load").tensor(1, 100 * kMiB).end("load");
  }

  // A forward that makes three activations and an output at `address`, and keeps them.
  void forward(std::uint64_t address) {
    builder.begin("forward");
    for (std::uint64_t i = 0; i < 3; ++i) builder.tensor(address + i, 10 * kMiB, layer);
    builder.tensor(address + 3, 2 * kMiB, layer).end("forward");
  }
  void free(std::uint64_t address) {
    for (std::uint64_t i = 0; i < 4; ++i) builder.tensor_death(address + i);
  }
  void backward(std::uint64_t address) {
    builder.begin("backward");
    free(address);
    builder.end("backward");
  }
  void update() { builder.begin("step").end("step"); }

  Findings found(bool exits = true) {
    if (exits) builder.exit(0);
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    Findings out = find(*analysis_);
    std::erase_if(out, [](const Finding& one) { return one.id != "graph-kept-in-eval"; });
    return out;
  }
  Findings find_leaks_left() {
    Findings out = find(*analysis_);
    std::erase_if(out, [](const Finding& one) { return one.id != "leak-per-step"; });
    return out;
  }

  std::uint64_t forwards_without_backward() const { return analysis_->account.forwards_without_backward; }

  Builder builder;
  std::uint32_t layer = 0;

 private:
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

// Two steps, then an evaluation that keeps four outputs with their graphs.
TEST_F(UnusedGraph, OfAnEvaluation) {
  for (std::uint64_t step = 0; step < 2; ++step) {
    forward(10);
    backward(10);
    update();
  }
  for (std::uint64_t batch = 0; batch < 4; ++batch) forward(100 + 10 * batch);
  builder.begin("save").end("save");
  for (std::uint64_t batch = 0; batch < 4; ++batch) free(100 + 10 * batch);
  forward(10);
  backward(10);
  const Findings findings = found();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title,
            "4 forward passes keep graphs that no backward uses: 120.00 MiB at once, at eval.py:27");
  EXPECT_EQ(findings[0].bytes, static_cast<std::int64_t>(120 * kMiB)) << "without the outputs";
  EXPECT_TRUE(findings[0].certain);
  // 100 of parameters, four outputs of 2, a layer's input and output of 10 each, and the step's own 32.
  EXPECT_NE(findings[0].evidence.back().find("would be at most " + std::to_string(152 * kMiB) + " bytes"),
            std::string::npos)
      << findings[0].evidence.back();
}

// Each step evaluates two batches and keeps their outputs: one cause, so one finding with its rate.
TEST_F(UnusedGraph, OfEachStepTakesTheLeakIn) {
  for (std::uint64_t step = 0; step < 20; ++step) {
    forward(10);
    backward(10);
    update();
    for (std::uint64_t batch = 0; batch < 2; ++batch) forward(100 + 20 * step + 10 * batch);
  }
  const Findings findings = found();
  ASSERT_EQ(findings.size(), 1u);
  // The outputs grow, too. The run exited, so the last pass gets no backward.
  EXPECT_EQ(findings[0].title,
            "40 forward passes keep graphs that no backward uses: 1200.00 MiB at once, at "
            "eval.py:27; memory grows by 64.00 MiB every step");
  EXPECT_EQ(findings[0].bytes, static_cast<std::int64_t>(1200 * kMiB));
  EXPECT_NE(findings[0].sentences.back().find("in forward after step 19"), std::string::npos)
      << "the steps are 0 to 19: " << findings[0].sentences.back();
  // 100 of parameters, 38 outputs of 2 of earlier steps, the 32 of training, a layer's input and output of 10
  // each.
  ASSERT_TRUE(findings[0].saving);
  EXPECT_EQ(findings[0].saving->bytes, static_cast<std::int64_t>((1380 - 228) * kMiB));
  // If the graphs alone hold the outputs: two of this step.
  EXPECT_TRUE(findings[0].remedy.ends_with(
      "-1152.00 MiB at least, and -1224.00 MiB if nothing else holds their inputs and outputs"))
      << findings[0].remedy;
  EXPECT_TRUE(find_leaks_left().empty());
}

// A dataset keeps what it reads, at the pace of the graphs. Without them it goes on.
TEST_F(UnusedGraph, DoesNotCountWhatTheDatasetKeeps) {
  const std::uint32_t sample = builder.python_frame("__getitem__", "/home/u/data.py", 20, 0);
  for (std::uint64_t step = 0; step < 20; ++step) {
    builder.begin("data").tensor(5000 + step, 8 * kMiB, sample).end("data");
    forward(100 + 10 * step);
    forward(10);
    backward(10);
    update();
  }
  const Findings findings = found();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].bytes, static_cast<std::int64_t>(600 * kMiB));
  const std::int64_t truth =
      (100 + 20 * (8 + 2) + 32) * kMiB; // of a run whose first pass keeps its output alone
  ASSERT_TRUE(findings[0].saving);
  const std::int64_t peak = (100 + 20 * (8 + 32) + 32) * kMiB;
  EXPECT_LE(findings[0].saving->bytes, peak - truth);
  EXPECT_GE(findings[0].saving->bytes, peak - truth - static_cast<std::int64_t>(20 * kMiB));
  EXPECT_EQ(std::count(findings[0].stacks.begin(), findings[0].stacks.end(), format::StackId{sample}), 0);
}

// A forward after training, to see the result once.
TEST_F(UnusedGraph, NoneForOnePassAfterTraining) {
  for (std::uint64_t step = 0; step < 2; ++step) {
    forward(10);
    backward(10);
    update();
  }
  forward(100);
  EXPECT_TRUE(found().empty());
}

TEST_F(UnusedGraph, NoneWhereEachForwardHasItsBackward) {
  for (int step = 0; step < 4; ++step) {
    for (int micro = 0; micro < 2; ++micro) {
      forward(10);
      backward(10);
    }
    update();
  }
  EXPECT_TRUE(found().empty());
}

// A pipeline: all forwards of a step, then all backwards.
TEST_F(UnusedGraph, NoneWhereBackwardsComeLater) {
  for (int step = 0; step < 3; ++step) {
    for (std::uint64_t micro = 0; micro < 4; ++micro) forward(100 + 10 * micro);
    for (std::uint64_t micro = 0; micro < 4; ++micro) backward(100 + 10 * micro);
    update();
  }
  EXPECT_TRUE(found().empty());
}

// One loss of four forwards, and one backward.
TEST_F(UnusedGraph, NoneWhereABackwardUsesSeveral) {
  for (int step = 0; step < 3; ++step) {
    for (std::uint64_t view = 0; view < 4; ++view) forward(100 + 10 * view);
    builder.begin("backward");
    for (std::uint64_t view = 0; view < 4; ++view) free(100 + 10 * view);
    builder.end("backward");
    update();
  }
  EXPECT_TRUE(found().empty());
}

// Killed in the forwards of the third step: their backwards would have come.
TEST_F(UnusedGraph, NoneWhereAPipelineDied) {
  for (int step = 0; step < 3; ++step) {
    for (std::uint64_t micro = 0; micro < 4; ++micro) forward(100 + 10 * micro);
    if (step == 2) break;
    for (std::uint64_t micro = 0; micro < 4; ++micro) backward(100 + 10 * micro);
    update();
  }
  EXPECT_TRUE(found(false).empty());
}

TEST_F(UnusedGraph, IsLikelyWhereTheEvaluationDied) {
  for (int step = 0; step < 2; ++step) {
    forward(10);
    backward(10);
    update();
  }
  for (std::uint64_t batch = 0; batch < 5; ++batch) forward(100 + 10 * batch);
  const Findings findings = found(false);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_FALSE(findings[0].certain);
  EXPECT_EQ(findings[0].title.rfind("4 forward passes keep graphs", 0), 0u)
      << "the last might have had its backward: " << findings[0].title;
}

// The outputs of a frozen model, without a graph.
TEST_F(UnusedGraph, NoneForOutputsAlone) {
  for (std::uint64_t batch = 0; batch < 8; ++batch) {
    builder.begin("forward").tensor(10, 20 * kMiB, layer).tensor(100 + batch, 20 * kMiB, layer);
    builder.tensor_death(10).end("forward");
  }
  EXPECT_TRUE(found().empty());
}

// A trace in which each forward but the last has its backward is not replayed for this question.
TEST_F(UnusedGraph, AfterADeathInTheForwardNeedsNoPass) {
  for (std::uint64_t step = 0; step < 2; ++step) {
    forward(10);
    backward(10);
    update();
  }
  forward(10);
  EXPECT_TRUE(found(false).empty());
  EXPECT_EQ(forwards_without_backward(), 0u);
}

TEST_F(UnusedGraph, CountsForwardsThatAnUpdateOrAForwardFollows) {
  forward(10);
  free(10);
  forward(10);
  free(10);
  update();
  update();
  forward(10);
  backward(10);
  backward(10);
  forward(10);
  found();
  EXPECT_EQ(forwards_without_backward(), 2u);
}

} // namespace
} // namespace memtrace::report
