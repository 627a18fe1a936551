// Purpose: what was alive at a peak, against a model that keeps everything and is too simple to be wrong.
#include "analyzer/attribute/peak_composition.h"
#include "analyzer/passes/peak_without.h"

#include <map>
#include <random>
#include <tuple>

#include "folded.h"
#include "tests/unit/seed.h"

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

// The model: every block in a list, mappings page by page.
struct Model {
  struct Held {
    std::uint64_t bytes, tensor;
    std::uint32_t stack;
    Kind kind;
    std::string phase;
  };
  using Key = std::tuple<std::uint32_t, Kind, std::string>;
  using Set = std::map<Key, std::uint64_t>;

  std::map<std::uint64_t, Held> blocks;
  std::map<std::uint64_t, Held> pages;
  std::int64_t small = 0;
  std::int64_t peak_live = 0, peak_tensor = 0;
  Set at_live, at_tensor;
  std::map<std::string, std::int64_t> phase_peak;
  std::vector<std::string> open;

  void look() {
    std::int64_t live = small;
    std::int64_t tensor = 0;
    Set lives;
    Set tensors;
    for (const auto* all : {&blocks, &pages}) {
      for (const auto& [address, held] : *all) {
        live += static_cast<std::int64_t>(held.bytes);
        tensor += static_cast<std::int64_t>(held.tensor);
        lives[{held.stack, held.kind, held.phase}] += held.bytes;
        if (held.tensor != 0) tensors[{held.stack, held.kind, held.phase}] += held.tensor;
      }
    }
    if (live > peak_live) peak_live = live, at_live = lives;
    if (tensor > peak_tensor) peak_tensor = tensor, at_tensor = tensors;
    for (const std::string& phase : open) {
      auto& peak = phase_peak.try_emplace(phase, live).first->second;
      peak = std::max(peak, live);
    }
  }
  std::string phase() const { return open.empty() ? "other" : open.back(); }
};

constexpr std::uint64_t kPage = 4096;

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}

  void run(int events) {
    for (int i = 0; i < events; ++i) {
      one();
      model.look();
    }
  }
  Builder builder;
  Model model;

 private:
  std::uint64_t below(std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_);
  }

  void one() {
    switch (below(8)) {
      case 0:
      case 1:
        birth();
        break;
      case 2:
        death();
        break;
      case 3:
        map();
        break;
      case 4:
        unmap();
        break;
      case 5:
        move();
        break;
      case 6:
        counters();
        break;
      default:
        mark();
    }
  }
  void birth() {
    const std::uint64_t address = 1 + below(60);
    const std::uint64_t bytes = 4096 + below(100000);
    const auto stack = static_cast<std::uint32_t>(1 + below(5));
    const bool tensor = below(2) == 0;
    if (tensor) {
      builder.tensor(address, bytes, stack);
    } else {
      builder.birth(address, bytes, Kind::heap, 0, stack);
    }
    model.blocks[address] = {tensor ? bytes + 8 : bytes, tensor ? bytes : 0, stack, Kind::heap, model.phase()};
  }
  void death() {
    const std::uint64_t address = 1 + below(60);
    builder.death(address);
    model.blocks.erase(address);
  }
  void move() {
    const std::uint64_t from = 1 + below(60);
    const auto at = model.blocks.find(from);
    if (at == model.blocks.end() || at->second.tensor != 0) return;
    const std::uint64_t to = 1 + below(60);
    const std::uint64_t bytes = 4096 + below(100000);
    builder.move(from, to, bytes, at->second.bytes);
    model.blocks.erase(at);
    model.blocks[to] = {bytes, 0, 0, Kind::heap, model.phase()};
  }
  void map() {
    const std::uint64_t first = 1000 + below(40);
    const std::uint64_t count = 1 + below(12);
    const auto stack = static_cast<std::uint32_t>(1 + below(5));
    builder.birth(first * kPage, count * kPage, Kind::mmap_anon, 0, stack);
    for (std::uint64_t i = first; i < first + count; ++i) {
      model.pages[i] = {kPage, 0, stack, Kind::mmap_anon, model.phase()};
    }
  }
  void unmap() {
    const std::uint64_t first = 1000 + below(40);
    const std::uint64_t count = 1 + below(12);
    builder.unmap(first * kPage, count * kPage, format::kReleased);
    for (std::uint64_t i = first; i < first + count; ++i) model.pages.erase(i);
  }
  void counters() {
    const std::uint64_t allocated = below(5000);
    builder.counters(allocated, 100, 1, 1);
    model.small += static_cast<std::int64_t>(allocated) - 100;
  }
  void mark() {
    static const char* const kNames[] = {"load", "a", "b"};
    if (!model.open.empty() && below(2) == 0) {
      builder.end(model.open.back());
      model.open.pop_back();
    } else if (model.open.size() < 3) {
      // Each phase gets a name of its own, so that a row is one occurrence.
      model.open.push_back(std::string(kNames[model.open.size()]) + std::to_string(serial_++));
      builder.begin(model.open.back());
    }
  }

  std::mt19937 random_;
  int serial_ = 0;
};

Model::Set sums(const Holdings& holdings, const Paths& paths) {
  Model::Set out;
  for (const Holding& h : holdings) {
    out[{static_cast<std::uint32_t>(h.stack), h.kind, paths.text(h.born_phase)}] += h.bytes;
  }
  return out;
}

TEST(Peak, AgreesWithTheModel) {
  const std::uint64_t first = tests::seed(1);
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    Random random(seed);
    random.run(600);
    const Folded folded(random.builder, 50);
    const MemoryPeaks& peaks = folded.account.peaks.at(0);
    ASSERT_EQ(peaks.live.bytes, random.model.peak_live) << "seed " << seed;
    ASSERT_EQ(peaks.tensor.bytes, random.model.peak_tensor) << "seed " << seed;
    ASSERT_EQ(sums(folded.alive(Measure::live, peaks.live.at), folded.account.paths), random.model.at_live)
        << "seed " << seed;
    ASSERT_EQ(sums(folded.alive(Measure::tensor, peaks.tensor.at), folded.account.paths),
              random.model.at_tensor);
    for (const Row& row : folded.account.rows) {
      if (row.count == 0) continue;
      const std::string name = folded.account.paths.text(folded.account.paths.last(row.path));
      ASSERT_EQ(row.of(0).live.peak, random.model.phase_peak.at(name)) << name << ", seed " << seed;
    }
  }
}

TEST(Peak, SeveralInstantsInOnePassAreAsIfAskedForAlone) {
  Random random(tests::seed(99));
  random.run(800);
  const Folded folded(random.builder, 50);
  std::vector<Instant> instants;
  for (const Row& row : folded.account.rows) {
    if (row.count != 0) instants.push_back({0, Measure::live, row.of(0).live.peak_at});
  }
  ASSERT_GT(instants.size(), 10u);
  const auto together = alive_at(folded.trace(), instants, folded.account.last_step);
  for (const Instant& instant : instants) {
    const Holdings alone = folded.alive(Measure::live, instant.at);
    EXPECT_EQ(sums(together.at(instant), folded.account.paths), sums(alone, folded.account.paths));
  }
}

} // namespace
} // namespace memtrace::replay
