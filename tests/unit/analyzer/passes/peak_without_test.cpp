// Purpose: the height of a peak without some blocks, on traces whose peaks follow from their sizes.
#include "analyzer/passes/peak_without.h"

#include <gtest/gtest.h>

#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::replay {
namespace {

using tests::Builder;
using tests::kMiB;

constexpr std::uint64_t kLogits = 40 * kMiB;

class LossInParts : public testing::Test {
 protected:
  LossInParts() { builder.begin("load").tensor(1, 100 * kMiB).end("load"); }

  void forward() { builder.begin("forward").tensor(10, kLogits).end("forward"); }
  void backward() { builder.begin("backward").tensor_death(10).end("backward"); }
  void update() { builder.begin("step").end("step"); }
  void evaluation() {
    builder.begin("eval")
        .tensor(20, kLogits)
        .tensor(21, 50 * kMiB)
        .tensor_death(20)
        .tensor_death(21)
        .end("eval");
  }
  // Returns the peak in MiB with the logits in 8 parts.
  std::int64_t peak(bool before_update) {
    tests::write_file(scratch_.file("t.memtrace"), builder.exit(0).bytes());
    const trace::Trace trace(scratch_.file("t.memtrace"));
    const Excluded logits{
        .parts = 8, .sizes = {{kLogits, kLogits}}, .of_present_step = true, .before_update = before_update};
    return peaks_without(trace, {logits}).front().peak / static_cast<std::int64_t>(kMiB);
  }

  Builder builder;

 private:
  tests::Scratch scratch_;
};

TEST_F(LossInParts, KeepsTheLogitsOfAnEvaluation) {
  for (int step = 0; step < 2; ++step) {
    forward(), backward(), update(), evaluation();
  }
  EXPECT_EQ(peak(false), 100 + 50 + 5);
  EXPECT_EQ(peak(true), 100 + 50 + 40) << "no part of the training's loss is in an evaluation";
}

// The program marks a step before each update. So the forward of the next update comes after the update in its
// step.
TEST_F(LossInParts, OfStepsThatBeginWithTheUpdate) {
  for (std::uint64_t step = 0; step < 3; ++step) {
    builder.step(step);
    if (step != 0) update();
    forward(), backward();
  }
  EXPECT_EQ(peak(true), 100 + 5);
}

} // namespace
} // namespace memtrace::replay
