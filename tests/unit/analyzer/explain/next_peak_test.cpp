// Purpose: tests that the peak of another cause is found, and that the same peak of the next step is none.
#include "analyzer/explain/next_peak.h"

#include <gtest/gtest.h>

#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::kMiB;

class NextPeakTest : public testing::Test {
 protected:
  std::optional<NextPeak> of(Builder& builder) {
    builder.exit(0);
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    Options options;
    options.next_peak = true;
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), options);
    const auto with_history = next_peak(*analysis_, leading_peak(*analysis_, 0));
    EXPECT_TRUE(analysis_->peak_history);
    analysis_->peak_history.reset();
    auto with_pass = next_peak(*analysis_, leading_peak(*analysis_, 0));
    EXPECT_EQ(with_history.has_value(), with_pass.has_value());
    if (with_history && with_pass) {
      EXPECT_EQ(with_history->peak.at, with_pass->peak.at);
    }
    return with_pass;
  }
  Builder& block(Builder& builder, std::uint64_t address, std::uint64_t mib, std::uint32_t line) {
    const std::uint32_t frame = builder.python_frame("main", "/home/u/prep.py", line, 0);
    return builder.birth(address << 32, mib * kMiB, format::Kind::heap, 0, frame);
  }

 private:
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

// A table of 300, then two copies of 380 at line 10 of which one goes, then 340 at line 12.
TEST_F(NextPeakTest, IsThatOfAnotherLine) {
  Builder builder;
  block(builder, 1, 300, 8);
  block(builder, 2, 380, 10);
  block(builder, 3, 380, 10).death(std::uint64_t{3} << 32);
  block(builder, 4, 340, 12).death(std::uint64_t{2} << 32);
  block(builder, 5, 100, 14);
  const auto next = of(builder);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->bytes, static_cast<std::int64_t>((300 + 380 + 340) * kMiB));
  EXPECT_EQ(next->line, "prep.py:12");
  EXPECT_EQ(next->alive.size(), 3u);
}

// A small block after the large one does not name the peak.
TEST_F(NextPeakTest, IsNamedByItsLastLargeBlock) {
  Builder builder;
  block(builder, 1, 500, 8).death(std::uint64_t{1} << 32);
  block(builder, 2, 400, 12);
  block(builder, 3, 1, 13);
  const auto next = of(builder);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->bytes, static_cast<std::int64_t>(401 * kMiB));
  EXPECT_EQ(next->line, "prep.py:12");
}

TEST_F(NextPeakTest, OfALoopThatRepeatsOneIsNone) {
  Builder builder;
  block(builder, 1, 300, 3);
  for (int i = 0; i < 5; ++i) block(builder, 2, 200, 7).death(std::uint64_t{2} << 32);
  EXPECT_FALSE(of(builder));
}

TEST_F(NextPeakTest, BelowHalfOfTheFirstIsNone) {
  Builder builder;
  block(builder, 1, 500, 8).death(std::uint64_t{1} << 32);
  block(builder, 2, 249, 12);
  EXPECT_FALSE(of(builder));
}

// A fall of less than 1 part in 20 is not a valley.
TEST_F(NextPeakTest, WithoutAValleyIsNone) {
  Builder builder;
  block(builder, 1, 300, 8);
  block(builder, 2, 10, 9).death(std::uint64_t{2} << 32);
  block(builder, 3, 30, 12);
  EXPECT_FALSE(of(builder));
}

// In each step, line 3 and line 4 hold most in turn: the phases of all steps are one cause. The update is
// another.
TEST_F(NextPeakTest, OfTrainingIsThatOfAnotherPhase) {
  Builder builder;
  block(builder, 1, 300, 1);
  for (int step = 0; step < 4; ++step) {
    builder.begin("forward");
    block(builder, 2, 200, step % 2 == 0 ? 3 : 4).death(std::uint64_t{2} << 32).end("forward");
    builder.begin("step");
    block(builder, 3, 150, 5).death(std::uint64_t{3} << 32).end("step");
  }
  const auto next = of(builder);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->bytes, static_cast<std::int64_t>(450 * kMiB));
  EXPECT_EQ(next->line, "prep.py:5");
  EXPECT_EQ(next->peak.step, replay::Step{0});
}

} // namespace
} // namespace memtrace::report
