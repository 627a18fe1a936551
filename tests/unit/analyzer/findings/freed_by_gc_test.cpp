// Purpose: tests that blocks of earlier steps which Python's collector freed are found, and only these.
#include "analyzer/findings/peak/freed_by_gc.h"

#include <gtest/gtest.h>

#include "analyzer/findings/all_findings.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::kMiB;

constexpr int kSteps = 8;
constexpr std::uint64_t kCycle = 20 * kMiB;

class FreedByGc : public testing::Test {
 protected:
  // Each step makes a block of 20 MiB at address 10 + step. `flags`: of its death, after the last step but one.
  void train(std::uint16_t flags) {
    const std::uint32_t line = builder.python_frame("make", "/home/u/train.py", 7, 0);
    builder.begin("load").tensor(1, 100 * kMiB).end("load");
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      builder.begin("forward").tensor(10 + step, kCycle, line).tensor(2, 10 * kMiB).end("forward");
      builder.begin("backward").tensor_death(2).end("backward").begin("step").end("step");
      if (step != kSteps - 2) continue;
      for (std::uint64_t made = 0; made <= step; ++made)
        builder.death(10 + made, 0, format::Kind::heap, static_cast<std::uint16_t>(format::kTensor | flags));
    }
    builder.exit(0);
  }

  Findings found() {
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    Findings out = find(*analysis_);
    std::erase_if(out, [](const Finding& one) { return one.id != "freed-by-gc"; });
    return out;
  }
  std::int64_t collections() const {
    std::int64_t out = 0;
    for (const replay::Row& row : analysis_->account.rows)
      if (analysis_->account.paths.text(analysis_->account.paths.last(row.path)) == "gc")
        out += static_cast<std::int64_t>(row.count);
    return out;
  }

  Builder builder;

 private:
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

TEST_F(FreedByGc, BlocksOfEarlierSteps) {
  train(format::kCollected);
  const Findings findings = found();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].bytes, static_cast<std::int64_t>(6 * kCycle)) << "the peak is in step 6";
  EXPECT_EQ(findings[0].saving->bytes, static_cast<std::int64_t>(6 * kCycle));
  EXPECT_NE(findings[0].title.find("train.py:7"), std::string::npos) << findings[0].title;
  EXPECT_EQ(collections(), 1);
}

TEST_F(FreedByGc, NoneIfTheProgramFreesThem) {
  train(0);
  EXPECT_TRUE(found().empty());
  EXPECT_EQ(collections(), 0);
}

// A collection frees the blocks of the present step in each step: no earlier one holds any.
TEST_F(FreedByGc, NoneIfEachStepCollects) {
  builder.begin("load").tensor(1, 100 * kMiB).end("load");
  for (int step = 0; step < kSteps; ++step) {
    builder.begin("forward").tensor(2, kCycle).end("forward").begin("backward").end("backward");
    builder.begin("step").end("step");
    builder.death(2, 0, format::Kind::heap, format::kTensor | format::kCollected);
  }
  builder.exit(0);
  EXPECT_TRUE(found().empty());
  EXPECT_EQ(collections(), kSteps);
}

} // namespace
} // namespace memtrace::report
