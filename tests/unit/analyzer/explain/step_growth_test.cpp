// Purpose: tests by how much the typical steps grow.
#include "analyzer/explain/step_growth.h"

#include <gtest/gtest.h>

#include <functional>

#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::kMiB;

class StepGrowth : public testing::Test {
 protected:
  std::int64_t of(const std::function<void(Builder&, std::uint64_t)>& each) {
    Builder builder;
    builder.begin("load").birth(1, 100 * kMiB).end("load");
    for (std::uint64_t step = 0; step < 20; ++step) {
      builder.begin("forward").birth(2, 50 * kMiB);
      each(builder, step);
      builder.death(2).end("forward").begin("step").end("step");
    }
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    return growth_per_step(*analysis_, 0, replay::Measure::live);
  }

 private:
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

TEST_F(StepGrowth, IsWhatEachStepKeeps) {
  EXPECT_EQ(of([](Builder& builder, std::uint64_t step) { builder.birth((10 + step) << 32, 16 * kMiB); }),
            static_cast<std::int64_t>(16 * kMiB));
  EXPECT_EQ(growth_in_words(16 * kMiB), "each begins 16.00 MiB higher than the step before");
}

TEST_F(StepGrowth, IsNoneWhereAStepKeepsNothing) {
  EXPECT_EQ(of([](Builder&, std::uint64_t) {}), 0);
  EXPECT_EQ(growth_in_words(0), "");
}

// One step keeps much, the others nothing: no step is typical of that.
TEST_F(StepGrowth, IsNoneOfAStepThatDiffers) {
  EXPECT_EQ(of([](Builder& builder, std::uint64_t step) {
              if (step == 9) builder.birth(std::uint64_t{9} << 32, 64 * kMiB);
            }),
            0);
}

} // namespace
} // namespace memtrace::report
