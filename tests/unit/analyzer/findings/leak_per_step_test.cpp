// Purpose: a leak where every part of a run leaves something behind, and none where it does not.
#include "analyzer/findings/process/leak_per_step.h"

#include <gtest/gtest.h>

#include <functional>

#include "builder.h"

namespace memtrace::report {
namespace {

using tests::Builder;

constexpr std::int64_t kKiB = 1024;

class Leaks : public testing::Test {
 protected:
  Leaks() { site = builder.python_frame("keep", "/home/u/train.py", 31, 0); }

  // `each` is called in every step, within forward.
  std::vector<Finding> of(int steps, const std::function<void(int)>& each) {
    builder.begin("load").birth(1, 100 << 20).end("load");
    for (int step = 0; step < steps; ++step) {
      builder.begin("forward").birth(2, 300 << 20).death(2);
      each(step);
      builder.end("forward").begin("step").birth(3, 1 << 20).death(3).end("step");
    }
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    return find_leaks(*analysis_);
  }
  static std::uint64_t address(int step) { return 0x1000000 + static_cast<std::uint64_t>(step) * 0x100000; }

  Builder builder;
  std::uint32_t site = 0;

  std::unique_ptr<ProcessAnalysis> analysis_;

 private:
  tests::Scratch scratch_;
};

TEST_F(Leaks, OfEveryStep) {
  const auto found =
      of(40, [this](int step) { builder.birth(address(step), 256 * kKiB, format::Kind::heap, 0, site); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes, 256 * kKiB);
  EXPECT_TRUE(found[0].certain);
  EXPECT_EQ(found[0].title,
            "Memory grows by 0.25 MiB every step, at train.py:31: 10.00 MiB are held at the death");
}

// 100 of the model, 300 of a forward, and a quarter that each of 39 earlier steps left.
TEST_F(Leaks, SaveWhatEarlierStepsLeft) {
  const auto found =
      of(40, [this](int step) { builder.birth(address(step), 256 * kKiB, format::Kind::heap, 0, site); });
  const Findings measured = judge_together(*analysis_, measure_leaks(*analysis_, found));
  ASSERT_EQ(measured.size(), 1u);
  ASSERT_TRUE(measured[0].saving);
  EXPECT_EQ(measured[0].saving->bytes, 39 * 256 * kKiB);
  EXPECT_EQ(
      measured[0].sentences.at(1),
      "The peak of all allocations is 409.75 MiB in forward 39; without what earlier steps left 400.00 MiB: "
      "-9.75 MiB.");
}

// At the highest point of step 39, each of 39 steps has left 256 KiB. Step 39 itself adds as much.
TEST_F(Leaks, SayWhatEarlierStepsLeftBesideTheLastStepItself) {
  const auto before =
      of(40, [this](int step) { builder.birth(address(step), 256 * kKiB, format::Kind::heap, 0, site); });
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].evidence[0],
            "9.75 MiB of steps 0 to 38 are still held in step 39; each of steps 1 to 38 left some");
}

TEST_F(Leaks, CountWhatTheLastStepHasMadeByItsHighestPoint) {
  const auto after = of(40, [this](int step) {
    builder.birth(address(step), 256 * kKiB, format::Kind::heap, 0, site).birth(4, 400 << 20).death(4);
  });
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(
      after[0].evidence[0],
      "9.75 MiB of steps 0 to 38 are still held in step 39, beside 0.25 MiB made in that step itself; each of "
      "steps 1 to 38 left some");
}

// An activation and an input: what one graph keeps is one leak.
TEST_F(Leaks, TensorsOfTheSameStepsAreOne) {
  const std::uint32_t other = builder.python_frame("keep", "/home/u/train.py", 32, 0);
  const auto found = of(40, [&](int step) {
    builder.tensor(address(step), 256 * kKiB, site).tensor(address(step) + 0x80000, 512 * kKiB, other);
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(static_cast<double>(found[0].bytes), 768 * kKiB, kKiB) << "with the rounding of the allocator";
  EXPECT_EQ(found[0].stacks.size(), 2u);
  EXPECT_EQ(found[0].title.rfind("Memory grows by 0.75 MiB every step, at train.py:32 and 1 more line", 0), 0u)
      << found[0].title;
}

// The user's line and the library's are both there, and the remedy says what the trace does not know.
TEST_F(Leaks, NameTheUsersLineBesideTheLibrarys) {
  const std::uint32_t linear =
      builder.python_frame("forward", "/l/site-packages/torch/nn/modules/linear.py", 134, site);
  const auto found = of(40, [&](int step) { builder.tensor(address(step), 256 * kKiB, linear); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].title.find("every step, at train.py:31: "), std::string::npos) << found[0].title;
  EXPECT_EQ(found[0].sentences.at(0), "Each step: train.py:31 0.25 MiB by torch/nn/modules/linear.py:134.");
  EXPECT_EQ(found[0].remedy,
            "look for what stores the result of train.py:31 in each step: a list, an attribute, a graph that a "
            "kept loss holds. The trace does not show the holder. A tensor with a grad_fn keeps its graph, and "
            ".detach() shares its memory; .item() or .argmax() keep neither. 1,000 steps take 250.01 MiB");
}

TEST_F(Leaks, WithoutALineOfTheUsersNameTheLibraryOnce) {
  const std::uint32_t alone = builder.python_frame("fill", "/l/site-packages/vendor/fill.py", 7, 0);
  const auto found =
      of(40, [&](int step) { builder.birth(address(step), 256 * kKiB, format::Kind::heap, 0, alone); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sentences.at(0), "Each step: vendor/fill.py:7 0.25 MiB.");
}

TEST_F(Leaks, OfOtherStepsAreTwo) {
  const std::uint32_t other = builder.python_frame("keep", "/home/u/train.py", 32, 0);
  EXPECT_EQ(of(40,
               [&](int step) {
                 builder.tensor(address(step), 256 * kKiB, site);
                 if (step % 2 == 0) builder.tensor(address(step) + 0x80000, 512 * kKiB, other);
               })
                .size(),
            2u);
}

TEST_F(Leaks, OfEveryFourthStepIsItsPart) {
  const auto found = of(41, [this](int step) {
    if (step % 4 == 0) builder.birth(address(step), 1024 * kKiB, format::Kind::mmap_anon, 0, site);
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes, 256 * kKiB);
  EXPECT_FALSE(found[0].certain);
}

TEST_F(Leaks, ACacheThatFillsOrKeepsTheLastIsNone) {
  EXPECT_TRUE(of(40, [this](int step) {
                if (step < 15) builder.birth(address(step), 256 * kKiB, format::Kind::heap, 0, site);
                if (step >= 5) builder.death(address(100 + step - 5));
                builder.birth(address(100 + step), 512 * kKiB, format::Kind::heap, 0, site);
              }).empty());
}

TEST_F(Leaks, FewStepsOrLittleIsNone) {
  EXPECT_TRUE(of(10, [this](int step) {
                builder.birth(address(step), 1024 * kKiB, format::Kind::heap, 0, site);
              }).empty());
}

TEST_F(Leaks, SomeBytesAreNone) {
  EXPECT_TRUE(of(60, [this](int step) {
                builder.birth(address(step), 8 * kKiB, format::Kind::heap, 0, site);
              }).empty());
}

} // namespace
} // namespace memtrace::report
