// Purpose: tests that the forward passes after the last update are not a step of training, and that all else
// is.
#include "analyzer/explain/after_training.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "folded.h"

namespace memtrace::report {
namespace {

using replay::Step;
using tests::Builder;
using tests::Folded;

class AfterTraining : public testing::Test {
 protected:
  AfterTraining() {
    for (int step = 0; step < 3; ++step) phases({"forward", "backward", "step", "zero_grad"});
  }
  void phases(std::initializer_list<const char*> names) {
    for (const char* name : names) builder.begin(name).end(name);
  }
  Step found(const char* how = "exit", std::uint32_t code = 0) {
    const Folded folded(builder);
    ProcessEnd end;
    end.how = how;
    end.code = code;
    return after_training(folded.account, folded.trace().facts(), end);
  }

  Builder builder;
};

TEST_F(AfterTraining, IsNoneWhereTheLastUpdateEndsTheRun) {
  EXPECT_EQ(found(), Step::none);
  phases({"eval", "save"});
  EXPECT_EQ(found(), Step::none) << "without gradients, an evaluation begins no step";
}

TEST_F(AfterTraining, IsTheStepThatHasForwardsAlone) {
  phases({"forward", "loss", "forward", "save"});
  EXPECT_EQ(found(), Step{3});
  EXPECT_EQ(last_of_training(found()), Step{2});
}

TEST_F(AfterTraining, IsNoneWhereTheStepTrained) {
  phases({"forward", "backward"});
  EXPECT_EQ(found(), Step::none);
}

TEST_F(AfterTraining, IsNoneWhereTheProcessDidNotExitWithZero) {
  phases({"forward"});
  EXPECT_EQ(found("exit", 1), Step::none) << "an exception in the forward of step 3";
  EXPECT_EQ(found("oom_kill", 9), Step::none);
  EXPECT_EQ(found("running"), Step::none);
}

TEST_F(AfterTraining, IsNoneWhereTheProgramCountsItsSteps) {
  builder.step(3);
  phases({"forward"});
  EXPECT_EQ(found(), Step::none);
}

TEST(AfterTrainingOfInference, IsNoneWithoutAnUpdate) {
  Builder builder;
  for (int pass = 0; pass < 3; ++pass) builder.begin("forward").end("forward");
  const Folded folded(builder);
  ProcessEnd end;
  end.how = "exit";
  EXPECT_EQ(after_training(folded.account, folded.trace().facts(), end), Step::none);
}

} // namespace
} // namespace memtrace::report
