// Purpose: tests the roles of blocks at a peak, what they touched, and peaks without some stacks.
#include "analyzer/attribute/peak_composition.h"
#include "analyzer/passes/peak_without.h"

#include <map>

#include "folded.h"

namespace memtrace::replay {
namespace {

using format::Kind;
using tests::Builder;
using tests::Folded;

Role role_at_peak(Builder& builder, std::uint64_t bytes) {
  const Folded folded(builder);
  for (const Holding& holding : folded.alive(Measure::tensor, folded.account.peaks.at(0).tensor.at)) {
    if (holding.bytes == bytes) return holding.role;
  }
  ADD_FAILURE() << "no holding of " << bytes;
  return Role::unknown;
}

TEST(Roles, FollowFromBirthAndFate) {
  Builder builder;
  builder.begin("load").tensor(1, 1000).end("load");
  builder.begin("data").tensor(9, 11).end("data");
  builder.begin("forward").tensor(2, 200).tensor(3, 30).end("forward");
  builder.begin("backward").tensor(4, 400).tensor(8, 5000).tensor_death(8).tensor_death(2).end("backward");
  builder.begin("step").tensor(5, 700).tensor(6, 10000).tensor_death(6).end("step");
  builder.tensor_death(4).tensor_death(3).tensor(7, 77).tensor_death(9);
  builder.begin("forward").end("forward");
  EXPECT_EQ(role_at_peak(builder, 1000), Role::parameter);
  EXPECT_EQ(role_at_peak(builder, 11), Role::input);
  EXPECT_EQ(role_at_peak(builder, 30), Role::activation);
  EXPECT_EQ(role_at_peak(builder, 400), Role::gradient);
  EXPECT_EQ(role_at_peak(builder, 700), Role::optimizer_state);
  EXPECT_EQ(role_at_peak(builder, 10000), Role::temporary);
  const Folded folded(builder);
  const Row& backward = folded.row("backward", 0);
  const Holdings there = folded.alive(Measure::tensor, backward.of(0).tensor.peak_at);
  std::map<Role, std::uint64_t> roles;
  for (const Holding& holding : there) roles[holding.role] += holding.bytes;
  EXPECT_EQ(roles[Role::temporary], 5000u);
  EXPECT_EQ(roles[Role::activation], 230u);
}

TEST(Roles, APhaseThatWasCutOffTellsNothing) {
  Builder builder;
  builder.begin("forward").end("forward").begin("backward").tensor(1, 100);
  EXPECT_EQ(role_at_peak(builder, 100), Role::unknown);
}

TEST(Roles, LabelsDecide) {
  Builder builder;
  builder.begin("step").tensor(1, 100).put(format::EventType::label, 0, 0, {1, 100, builder.text("master")});
  builder.end("step");
  EXPECT_EQ(role_at_peak(builder, 100), Role::master);
}

Holding at_last_peak(Builder& builder, std::uint64_t bytes) {
  builder.tensor(99, 1 << 20); // the peak: after all the rest
  const Folded folded(builder);
  for (const Holding& holding : folded.alive(Measure::tensor, folded.account.peaks.at(0).tensor.at))
    if (holding.bytes == bytes) return holding;
  ADD_FAILURE() << "no holding of " << bytes;
  return {};
}

TEST(Touched, InThePhaseThatTheTimeSinceTheLastLookWasSpentIn) {
  Builder builder;
  builder.begin("load").tensor(1, 1000);
  const std::uint64_t birth = builder.now();
  builder.put(format::EventType::sample_touched, 0, 0, {1, birth, 1000, 100, birth});
  const std::uint64_t first = builder.now();
  builder.end("load").begin("forward").end("forward").begin("step").wait(50'000).end("step");
  builder.put(format::EventType::sample_touched, 0, 0, {1, birth, 1000, 900, first});
  const Holding holding = at_last_peak(builder, 1000);
  EXPECT_EQ(holding.resident, 900u);
  EXPECT_EQ(holding.late, 800u);
  EXPECT_EQ(Folded(builder).account.paths.text(holding.late_phase), "step");
  EXPECT_EQ(holding.late_step, Step{0});
}

TEST(Touched, ABlockOfWhichNothingIsSaidIsAllThere) {
  Builder builder;
  builder.begin("load").tensor(1, 1000).end("load");
  // Of a block that was there before it, and of none.
  builder.put(format::EventType::sample_touched, 0, 0, {1, 5, 1000, 100, 5});
  builder.put(format::EventType::sample_touched, 0, 0, {2, 5, 1000, ~std::uint64_t{0}, ~std::uint64_t{0}});
  const Holding holding = at_last_peak(builder, 1000);
  EXPECT_EQ(holding.resident, 1000u);
  EXPECT_EQ(holding.late, 0u);
}

TEST(Touched, NoMoreThanThereIs) {
  Builder builder;
  builder.begin("load").tensor(1, 1000);
  const std::uint64_t birth = builder.now();
  builder.end("load");
  builder.put(format::EventType::sample_touched, 0, 0, {1, birth, 1000, 1, birth});
  builder.put(format::EventType::sample_touched, 0, 0, {1, birth, ~std::uint64_t{0}, ~std::uint64_t{0}, 0});
  const Holding holding = at_last_peak(builder, 1000);
  EXPECT_EQ(holding.resident, 1000u);
  EXPECT_LE(holding.late, 1000u);
}

TEST(Roles, WhatNoModuleHasIsNoParameterWhereModulesWereSeen) {
  Builder builder;
  builder.put(format::EventType::parameters, 0, 0, {1, 1, 4, 1});
  builder.begin("load").tensor(1, 100).end("load").begin("forward").end("forward");
  EXPECT_EQ(role_at_peak(builder, 100), Role::unknown);
}

TEST(Roles, FollowFromTheFunctionThatMadeIt) {
  Builder builder;
  const auto loop = builder.python_frame("train", "/home/train.py", 7, 0);
  const auto save = builder.python_frame("save", "/lib/torch/serialization.py", 1100, loop);
  const auto ddp = "/lib/torch/nn/parallel/distributed.py";
  const auto buckets = builder.python_frame("DistributedDataParallel._ddp_init_helper", ddp, 1437, loop);
  const auto forward = builder.python_frame("DistributedDataParallel.forward", ddp, 1885, loop);
  const auto mine = builder.python_frame("save", "/home/serialization.py", 3, loop);
  const auto import = builder.python_frame("_find_and_load", "<frozen importlib._bootstrap>", 1176, save);
  builder.begin("step").tensor(1, 100, buckets).tensor(2, 20, forward).tensor(3, 3, save).tensor(4, 4, import);
  builder.tensor(5, 5, mine).end("step");
  EXPECT_EQ(role_at_peak(builder, 100), Role::comm);
  EXPECT_EQ(role_at_peak(builder, 20), Role::optimizer_state);
  EXPECT_EQ(role_at_peak(builder, 3), Role::checkpoint);
  EXPECT_EQ(role_at_peak(builder, 4), Role::optimizer_state);
  EXPECT_EQ(role_at_peak(builder, 5), Role::optimizer_state);
}

// A bucket that gradients are views of, and a gathered state that is saved.
TEST(Roles, LabelsSayMoreThanTheFunctionButOfWhatIsSaved) {
  Builder builder;
  const auto buckets =
      builder.python_frame("_ddp_init_helper", "/lib/torch/nn/parallel/distributed.py", 1437, 0);
  const auto gather =
      builder.python_frame("all_gather_single", "/lib/torch/distributed/_functional_collectives.py", 209, 0);
  const auto label = format::EventType::label;
  builder.begin("step").tensor(1, 100, buckets).put(label, 0, 0, {1, 100, builder.text("gradient")});
  builder.tensor(2, 20, gather).put(label, 0, 0, {2, 20, builder.text("checkpoint")});
  builder.tensor(3, 3).put(label, 0, 0, {3, 3, builder.text("checkpoint")}).end("step");
  EXPECT_EQ(role_at_peak(builder, 100), Role::gradient);
  EXPECT_EQ(role_at_peak(builder, 20), Role::gathered);
  EXPECT_EQ(role_at_peak(builder, 3), Role::checkpoint);
}

// The recorder does not know a module that never ran. A copy that was made to be saved is none.
TEST(Roles, AModelThatNeverRanKeepsItsParameters) {
  Builder builder;
  const auto saved = [&builder](std::uint64_t address) {
    builder.put(format::EventType::label, 0, 0, {address, 1, builder.text("checkpoint")});
  };
  builder.begin("load").tensor(1, 100).end("load").tensor(2, 20);
  saved(1);
  saved(2);
  EXPECT_EQ(role_at_peak(builder, 100), Role::parameter);
  EXPECT_EQ(role_at_peak(builder, 20), Role::checkpoint);
}

TEST(Peak, LifetimeIsTheMedian) {
  Builder builder;
  builder.begin("step").tensor(1, 100).tensor(2, 100).tensor(3, 100).wait(1'000'000'000).tensor(4, 1);
  builder.tensor_death(1).wait(2'000'000'000).tensor_death(2).wait(5'000'000'000).tensor_death(3).end("step");
  const Folded folded(builder);
  const Holdings all = folded.alive(Measure::tensor, folded.account.peaks.at(0).tensor.at);
  ASSERT_EQ(all.size(), 2u); // by what became of them: block 4 survives
  EXPECT_EQ(all[0].blocks, 3u);
  EXPECT_EQ(all[0].largest, 100u);
  EXPECT_NEAR(static_cast<double>(all[0].lifetime), 3e9, 1e6);
}

TEST(Peak, TheFirstMaximumCounts) {
  Builder builder;
  builder.begin("step").birth(1, 100).death(1).birth(2, 100).death(2).end("step"); // events 2 and 4
  builder.begin("step").birth(3, 100).death(3).end("step");
  const Folded folded(builder);
  EXPECT_EQ(folded.account.peaks.at(0).live.at, 2u);
  EXPECT_EQ(folded.row("step", 0).of(0).live.peak_at, 2u);
}

TEST(Peak, WithoutSomeStacksItIsLower) {
  Builder builder;
  const std::uint32_t a = builder.native_frame(0x1000, 0);
  const std::uint32_t b = builder.native_frame(0x2000, 0);
  builder.begin("forward").tensor(9, 250).tensor_death(9).end("forward");
  for (int i = 0; i < 2; ++i) {
    builder.begin("step").tensor(1, 100, a).tensor(2, 200, b).tensor(3, 50, a);
    builder.tensor_death(1).tensor_death(2).tensor_death(3).end("step");
  }
  const Folded folded(builder);
  EXPECT_EQ(folded.account.peaks.at(0).tensor.bytes, 350);
  const std::unordered_set<format::StackId> of_b{format::StackId{b}};
  const auto all = replay::peaks_without(folded.trace(), {{.stacks = of_b},
                                                          {.stacks = std::unordered_set<format::StackId>{}},
                                                          {.stacks = of_b, .born = replay::KnownPhase::forward},
                                                          {.stacks = of_b, .parts = 2},
                                                          {.sizes = {{1, 50}, {200, 249}}},
                                                          {.sizes = {{1, 300}}, .spared = of_b},
                                                          {.measure = Measure::live}});
  const std::vector<std::int64_t> peaks{250, 350, 350, 250, 250, 200, 0};
  ASSERT_EQ(all.size(), peaks.size());
  for (std::size_t i = 0; i < peaks.size(); ++i) EXPECT_EQ(all[i].peak, peaks[i]) << i;
  EXPECT_EQ(all[0].steps, std::set<Step>{Step{0}});
  EXPECT_EQ(all[0].last_held, Step{0});
  EXPECT_EQ(all[0].step, Step{0});
  EXPECT_EQ(all[1].path, folded.row("step", 0).path);
  EXPECT_EQ(all[4].path, folded.row("forward", 0).path);
  EXPECT_EQ(all[5].last_held, Step{0});
}

// Each of three steps keeps 100 and has a temporary of 30: 330 at the most.
TEST(Peak, WithoutWhatEarlierStepsLeftOrThePresentOneMade) {
  Builder builder;
  const std::uint32_t a = builder.native_frame(0x1000, 0);
  const std::uint32_t b = builder.native_frame(0x2000, 0);
  for (std::uint64_t i = 0; i < 3; ++i) {
    builder.begin("forward").tensor(10 + i, 100, a).tensor(1, 30, b).tensor_death(1).end("forward");
    builder.begin("step").end("step");
  }
  const Folded folded(builder);
  EXPECT_EQ(folded.account.peaks.at(0).tensor.bytes, 330);
  const std::unordered_set<format::StackId> of_a{format::StackId{a}}, of_b{format::StackId{b}};
  const std::vector<trace::Ordinal> none;
  const auto all = replay::peaks_without(folded.trace(), {{.births = none, .left_by_steps = of_a},
                                                          {.stacks = of_b, .left_by_steps = of_a},
                                                          {.stacks = of_a, .of_present_step = true}});
  const std::vector<std::int64_t> peaks{130, 100, 230}, most{300, 330, 300};
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    EXPECT_EQ(all[i].peak, peaks[i]) << i;
    EXPECT_EQ(all[i].most, most[i]) << i;
  }
}

} // namespace
} // namespace memtrace::replay
