// Purpose: what a program replaces by something larger again and again is found, and what is smaller again, or
// of one text, is not.
#include "analyzer/findings/process/rebuilt_larger.h"

#include <gtest/gtest.h>

#include <functional>

#include "analyzer/findings/all_findings.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::kMiB;
using tests::kSignedMiB;

class RebuiltLarger : public testing::Test {
 protected:
  RebuiltLarger() {
    line = builder.python_frame("remember", "/home/u/chat.py", 31, 0);
    join = builder.python_frame("append", "/x/site-packages/numpy/lib/function_base.py", 9, line);
    builder.begin("load").birth(1, 10 * kMiB).end("load");
  }
  // Replaces the block by one of `mib`. The old one dies when the new one is there.
  void grow(std::uint64_t mib) {
    builder.birth(address(next_ + 1), mib * kMiB, format::Kind::heap, 0, join);
    if (held_) builder.death(address(next_));
    ++next_;
    held_ = true;
  }
  void drop() {
    builder.death(address(next_));
    held_ = false;
  }
  // In the first pass the block has `first` MiB; each later one adds 1.
  void answer(int passes, std::uint64_t first = 1) {
    for (int pass = 0; pass < passes; ++pass) {
      builder.begin("eval");
      grow(first + static_cast<std::uint64_t>(pass));
      builder.end("eval");
    }
  }
  void train(int steps, const std::function<void(int)>& in_step) {
    for (int step = 0; step < steps; ++step) {
      builder.begin("forward").birth(2, 4 * kMiB).death(2).end("forward");
      builder.begin("step").birth(3, kMiB).death(3).end("step");
      in_step(step);
    }
  }
  Findings found() {
    builder.exit(0);
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    return find(*analysis_);
  }
  static std::uint64_t address(std::uint64_t number) { return 0x10000000 + number * 0x4000000; }

  Builder builder;
  std::uint32_t line = 0;
  std::uint32_t join = 0;

 private:
  std::uint64_t next_ = 0;
  bool held_ = false;
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

TEST_F(RebuiltLarger, InEachPass) {
  answer(20);
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "leak-per-event");
  EXPECT_EQ(all[0].bytes, kSignedMiB);
  EXPECT_EQ(all[0].bytes_at_peak, 39 * kSignedMiB) << "the last block, and the one before";
  EXPECT_FALSE(all[0].certain);
  EXPECT_EQ(all[0].title,
            "Memory grows by 1.00 MiB with each evaluation, at chat.py:31: 20.00 MiB are held after "
            "the last one");
  EXPECT_EQ(all[0].evidence.at(0),
            "rebuilt larger each time: 19 of 20 evaluations replaced the blocks by larger ones");
}

TEST_F(RebuiltLarger, InEachStep) {
  train(20, [this](int step) { grow(static_cast<std::uint64_t>(step) + 1); });
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "leak-per-step");
  EXPECT_EQ(all[0].bytes, kSignedMiB);
  EXPECT_TRUE(all[0].certain);
  EXPECT_NE(all[0].title.find("Memory grows by 1.00 MiB every step, at chat.py:31"), std::string::npos);
}

TEST_F(RebuiltLarger, InSomeSteps) {
  train(60, [this](int step) {
    if (step % 5 == 4) grow(static_cast<std::uint64_t>(step / 5) + 1);
  });
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "leak-per-event");
  EXPECT_EQ(all[0].bytes, kSignedMiB);
}

TEST_F(RebuiltLarger, NotIfItIsDroppedNowAndThen) {
  for (int i = 0; i < 10; ++i) {
    answer(4);
    drop();
  }
  EXPECT_TRUE(found().empty());
}

TEST_F(RebuiltLarger, NotIfOnePassHoldsIt) {
  for (int text = 0; text < 3; ++text) {
    builder.begin("generate");
    answer(20);
    drop();
    builder.end("generate");
  }
  EXPECT_TRUE(found().empty());
}

TEST_F(RebuiltLarger, NotTheCacheOfOneTextBehindItsPrompt) {
  answer(20, 16);
  EXPECT_TRUE(found().empty());
}

TEST_F(RebuiltLarger, NotWhatAProgramJoinsFromItsResults) {
  for (std::uint64_t batch = 0; batch < 20; ++batch) {
    builder.begin("eval").birth(4, 2 * kMiB).death(4).end("eval");
    grow(batch + 1);
  }
  EXPECT_TRUE(found().empty());
}

TEST_F(RebuiltLarger, NotIfTheOldOneIsGoneBefore) {
  for (std::uint64_t pass = 0; pass < 20; ++pass) {
    builder.begin("eval");
    if (pass != 0) drop();
    grow(pass + 1);
    builder.end("eval");
  }
  EXPECT_TRUE(found().empty());
}

// Batches become longer from step to step, and a variable holds the last result until the next one is there.
TEST_F(RebuiltLarger, NotAVariableThatIsAssignedAnew) {
  join = builder.python_frame("forward", "/home/u/chat.py", 40, line);
  train(40, [this](int step) { grow(static_cast<std::uint64_t>(step) + 1); });
  EXPECT_TRUE(found().empty());
}

TEST_F(RebuiltLarger, NotIfTheGrowthEnds) {
  train(40, [this](int step) { grow(static_cast<std::uint64_t>(step < 12 ? step : 12) + 1); });
  EXPECT_TRUE(found().empty());
}

} // namespace
} // namespace memtrace::report
