// Purpose: phases and steps by the contract's rules.
#include "analyzer/replay/phase_tracker.h"

#include "folded.h"

namespace memtrace::replay {
namespace {

using tests::Builder;
using tests::Folded;

void training_step(Builder& builder, std::uint64_t base) {
  builder.begin("forward").tensor(base, 100).end("forward");
  builder.begin("backward").tensor(base + 1, 50).tensor_death(base).end("backward");
  builder.begin("step").tensor(base + 2, 30).tensor_death(base + 2).end("step");
  builder.tensor_death(base + 1); // zero_grad
}

TEST(Phases, StepsBeginAtTheForwardAfterAnOptimizersStep) {
  Builder builder;
  builder.begin("load").tensor(1, 1000).end("load").begin("data").end("data");
  training_step(builder, 0x100);
  builder.begin("data").end("data");
  training_step(builder, 0x200);
  const Folded folded(builder);
  EXPECT_TRUE(folded.has("load", -1));
  EXPECT_TRUE(folded.has("data", -1)) << "before the first forward there is no step";
  EXPECT_TRUE(folded.has("data", 0)) << "until the next forward it is still the old step";
  for (const char* phase : {"forward", "backward", "step"}) {
    EXPECT_TRUE(folded.has(phase, 0));
    EXPECT_TRUE(folded.has(phase, 1));
    EXPECT_FALSE(folded.has(phase, 2));
  }
  EXPECT_EQ(folded.account.last_step, Step{1});
  EXPECT_EQ(folded.account.first_update, Step{0});
  const Figures& step = folded.row("step", 0).of(0).tensor;
  EXPECT_EQ(step.entry, 1050);
  EXPECT_EQ(step.peak, 1080);
  EXPECT_EQ(step.exit, 1050);
  EXPECT_EQ(step.transient, 30);
  EXPECT_EQ(step.net, 0);
  EXPECT_EQ(folded.row("other", 0).of(0).freed, 58u);
}

TEST(Phases, AccumulationIsOneStep) {
  Builder builder;
  for (std::uint64_t micro = 0; micro < 2; ++micro) {
    builder.begin("forward").tensor(0x100 + micro, 100).end("forward");
    builder.begin("backward").tensor_death(0x100 + micro).tensor(0x200 + micro, 7).end("backward");
  }
  builder.begin("step").end("step");
  const Folded folded(builder);
  const Row& forward = folded.row("forward", 0);
  EXPECT_EQ(forward.count, 2u);
  EXPECT_EQ(forward.of(0).tensor.entry, 0);
  EXPECT_EQ(forward.of(0).tensor.exit, 107);
  EXPECT_EQ(forward.of(0).tensor.peak, 107);
  EXPECT_EQ(forward.of(0).tensor.net, 200);
  EXPECT_FALSE(folded.has("forward", 1));
}

TEST(Phases, SeveralOptimizersInARowAreOneStep) {
  Builder builder;
  builder.begin("forward").end("forward").begin("backward").end("backward");
  builder.begin("step").end("step").begin("step").end("step");
  builder.begin("backward").end("backward"); // no forward: still a new step
  const Folded folded(builder);
  EXPECT_EQ(folded.row("step", 0).count, 2u);
  EXPECT_TRUE(folded.has("backward", 1));
}

TEST(Phases, WithoutAnOptimizerEachOutermostForwardCounts) {
  Builder builder;
  for (int i = 0; i < 3; ++i) builder.begin("forward").begin("forward").end("forward").end("forward");
  const Folded folded(builder);
  EXPECT_EQ(folded.account.last_step, Step{2});
  EXPECT_EQ(folded.row("forward", 1).count, 1u);
  EXPECT_EQ(folded.row("forward/forward", 1).count, 1u);
}

TEST(Phases, ForwardWithoutGradientsEndsNoStep) {
  Builder builder;
  builder.begin("forward").end("forward").begin("step").end("step");
  builder.begin("forward", format::kAuto | format::kGradOff).end("forward");
  builder.begin("eval").begin("forward").end("forward").end("eval");
  const Folded folded(builder);
  EXPECT_EQ(folded.account.last_step, Step{0});
}

TEST(Phases, AClosureInsideTheStepIsThatStep) {
  Builder builder;
  builder.begin("forward").end("forward").begin("backward").end("backward");
  builder.begin("step");
  for (int i = 0; i < 3; ++i) builder.begin("forward").end("forward").begin("backward").end("backward");
  builder.end("step").begin("forward").end("forward");
  const Folded folded(builder);
  EXPECT_EQ(folded.row("step/forward", 0).count, 3u);
  EXPECT_TRUE(folded.has("forward", 1));
  EXPECT_FALSE(folded.has("forward", 2));
}

TEST(Phases, EachStepWithAClosureIsAStepOfItsOwn) {
  Builder builder;
  const std::uint16_t closure = format::kAuto | format::kClosure;
  for (int i = 0; i < 3; ++i) {
    builder.begin("step", closure).begin("step", closure); // of an optimizer in another's wrapper
    builder.begin("forward").end("forward").begin("backward").end("backward").end("step").end("step");
  }
  const Folded folded(builder);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(folded.row("step/step/forward", i).count, 1u) << i;
  EXPECT_EQ(folded.row("step", 2).count, 1u);
}

TEST(Phases, AClosureAfterItsForwardIsOfThatStep) {
  Builder builder;
  for (int i = 0; i < 2; ++i)
    builder.begin("forward").end("forward").begin("step", format::kAuto | format::kClosure).end("step");
  const Folded folded(builder);
  EXPECT_EQ(folded.row("step", 1).count, 1u);
  EXPECT_EQ(folded.account.last_step, Step{1});
}

TEST(Phases, NumbersOfTheUserOverrideTheRule) {
  Builder builder;
  builder.begin("forward").end("forward").step(7);
  builder.begin("forward").end("forward").begin("step").end("step").begin("forward").end("forward");
  const Folded folded(builder);
  EXPECT_TRUE(folded.has("forward", -1)) << "before the first number there is no step";
  EXPECT_EQ(folded.row("forward", 7).count, 2u);
  EXPECT_EQ(folded.account.last_step, Step{7});
}

TEST(Phases, MarksOfTheUserCountStepsOnlyWhereNothingElseDoes) {
  Builder mixed;
  mixed.begin("forward").end("forward").begin("step", 0).end("step").begin("forward").end("forward");
  EXPECT_EQ(Folded(mixed).account.last_step, Step{0});
  Builder marks;
  for (int i = 0; i < 2; ++i) marks.begin("forward", 0).end("forward").begin("step", 0).end("step");
  EXPECT_EQ(Folded(marks).account.last_step, Step{1});
}

TEST(Phases, ASkippedStepIsAStepMarkedSo) {
  Builder builder;
  builder.begin("forward").end("forward").begin("step").end("step", format::kSkipped);
  builder.begin("forward").end("forward").begin("step").end("step");
  const Folded folded(builder);
  EXPECT_TRUE(folded.row("step", 0).skipped);
  EXPECT_FALSE(folded.row("step", 1).skipped);
  EXPECT_EQ(folded.account.first_update, Step{1});
}

TEST(Phases, AThreadWithoutMarksIsWhereTheProcessIs) {
  Builder builder;
  builder.on(0).begin("backward").on(1).birth(0x10, 5000).on(0).end("backward").on(1).birth(0x20, 6000);
  const Folded folded(builder);
  EXPECT_EQ(folded.row("backward", 0).of(0).allocated, 5000u);
  EXPECT_EQ(folded.row("other", 0).of(0).allocated, 6000u);
}

TEST(Phases, OfSeveralMarkedThreadsTheLatestIsTheProcesss) {
  Builder builder;
  builder.on(0).begin("forward").on(1).begin("data").on(2).birth(0x10, 5000);
  builder.on(1).end("data").on(2).birth(0x20, 6000).on(0).birth(0x30, 7000);
  const Folded folded(builder);
  EXPECT_EQ(folded.row("data", 0).of(0).allocated, 5000u);
  EXPECT_EQ(folded.row("forward", 0).of(0).allocated, 13000u);
}

TEST(Phases, LevelsSpanNestedPhasesFlowsDoNot) {
  Builder builder;
  builder.begin("step").birth(1, 10).begin("unscale").birth(2, 1000).death(2).end("unscale").birth(3, 5).end(
      "step");
  const Folded folded(builder);
  const MemoryRow& outer = folded.row("step", 0).of(0);
  EXPECT_EQ(outer.live.peak, 1010);
  EXPECT_EQ(outer.live.exit, 15);
  EXPECT_EQ(outer.allocated, 15u);
  EXPECT_EQ(outer.allocations, 2u);
  EXPECT_EQ(folded.row("step/unscale", 0).of(0).allocated, 1000u);
}

TEST(Phases, AnEndClosesWhatAnExceptionLeftOpen) {
  Builder builder;
  builder.begin("forward").begin("inner").end("forward").birth(1, 10);
  const Folded folded(builder);
  EXPECT_EQ(folded.row("forward/inner", 0).count, 1u);
  EXPECT_EQ(folded.row("other", 0).of(0).allocated, 10u);
}

TEST(Phases, AnEndWithoutBeginIsNothing) {
  Builder builder;
  builder.end("step").begin("forward").end("backward").birth(1, 10).end("forward");
  const Folded folded(builder);
  EXPECT_EQ(folded.row("forward", 0).of(0).allocated, 10u);
}

TEST(Phases, WhatIsOpenAtTheEndHasTheLastLevel) {
  Builder builder;
  builder.begin("load").birth(1, 10).birth(2, 20).death(1);
  const Folded folded(builder);
  const Row& load = folded.row("load", -1);
  EXPECT_EQ(load.count, 1u);
  EXPECT_EQ(load.of(0).live.exit, 20);
  EXPECT_EQ(load.of(0).live.peak, 30);
}

TEST(Phases, ADepthTellsOfLostEnds) {
  Builder builder;
  builder.begin("load").birth(1, 10);    // 0, 1
  builder.end("load");                   // 2, will be lost
  builder.begin("forward").birth(2, 20); // 3, 4: depth before is 0
  tests::Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"),
                    builder.definitions() + builder.segment(0, 0, 2) + builder.segment(0, 3, 2));
  const trace::Trace trace(scratch.file("t.memtrace"));
  const Account account = replay::account_phases(trace);
  ASSERT_EQ(account.rows.size(), 2u);
  std::vector<std::string> last;
  for (const Row& row : account.rows) last = account.paths.texts(row.path);
  EXPECT_EQ(last, std::vector<std::string>{"forward"});
}

TEST(Phases, ADeepStackOfBeginsStaysCheap) {
  Builder builder;
  for (int i = 0; i < 20000; ++i) builder.begin("deep");
  builder.birth(1, 10);
  EXPECT_EQ(Folded(builder, 4096).account.peaks.at(0).live.bytes, 10);
}

TEST(Phases, SamplesBelongToThePhasesThatAreOpen) {
  Builder builder;
  builder.begin("load")
      .sample(10, 1, 0, 50)
      .sample(30, 2, 0, 60)
      .sample(20, 3, 1, 60)
      .end("load")
      .sample(5, 0, 0, 60);
  const Folded folded(builder);
  const auto& rss = folded.row("load", -1).rss;
  ASSERT_TRUE(rss.has_value());
  EXPECT_EQ(rss->entry.anon, 10u);
  EXPECT_EQ(rss->peak.anon, 30u);
  EXPECT_EQ(rss->exit.shmem, 1u);
  ASSERT_TRUE(folded.account.rss.has_value());
  EXPECT_EQ(folded.account.rss->bytes, 60);
}

TEST(Steady, AreTheStepsThatAreAlike) {
  Builder builder;
  const std::uint64_t mib = 1 << 20;
  for (std::uint64_t i = 0; i < 6; ++i) {
    // Step 0 makes states, step 3 has an odd batch.
    const std::uint64_t size = i == 3 ? 90 * mib : 50 * mib + i * 1000;
    builder.begin("forward").tensor(1, size).end("forward").begin("backward").tensor_death(1).end("backward");
    builder.begin("step");
    if (i == 0) builder.tensor(2, 200 * mib);
    builder.end("step");
  }
  builder.begin("forward").tensor(1, mib); // cut off
  const Folded folded(builder);
  const Steady out = steady(folded.account);
  EXPECT_EQ(out.steps, (std::vector<Step>{Step{1}, Step{2}, Step{4}, Step{5}}));
  ASSERT_EQ(out.rows.size(), 3u);
  EXPECT_EQ(out.rows[0].of(0).tensor.transient, 0);
  EXPECT_EQ(out.rows[0].of(0).tensor.peak, static_cast<std::int64_t>(250 * mib + 2000))
      << "the lower of the middle two";
  EXPECT_EQ(out.representative, Step{4}) << "nearest to the middle of all candidates";
}

TEST(Steady, OneStepIsLikeNoOther) {
  Builder builder;
  for (int i = 0; i < 2; ++i) builder.begin("forward").end("forward").begin("step").end("step");
  EXPECT_TRUE(steady(Folded(builder).account).steps.empty());
}

} // namespace
} // namespace memtrace::replay
