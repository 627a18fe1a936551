// Purpose: what a window begins with, and that steps counted otherwise than it turned out are forgotten.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "builder.h"
#include "host.h"
#include "preload/rollup/rollup.h"

namespace memtrace::rollup {
namespace {

using format::EventType;
using format::high;
using format::Kind;
using format::low;
using format::RingRecord;
using tests::Builder;

class Snapshot : public testing::Test {
 protected:
  Snapshot() : host_(tests::host()), fold_(std::make_unique<Fold>()) { fold_->start(host_, false, 0, 0); }

  std::uint32_t name(const std::string& text) {
    const std::uint32_t id = builder_.text(text);
    tests::world.texts[id] = text;
    return id;
  }
  // What the builder has of some threads since the last call.
  void apply(std::uint32_t threads) {
    std::vector<std::pair<std::uint32_t, RingRecord>> all;
    for (std::uint32_t thread = 0; thread < threads; ++thread)
      for (std::size_t& i = done_[thread]; i < builder_.records(thread).size(); ++i)
        all.emplace_back(thread, builder_.records(thread)[i]);
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.second.stamp < b.second.stamp; });
    for (const auto& [thread, record] : all) fold_->apply(thread, record);
    fold_->passed(true);
  }
  std::vector<RingRecord> take(std::uint64_t most_held = 1000) {
    std::vector<RingRecord> out;
    fold_->snapshot(
        5, 999, most_held,
        [](void* to, const RingRecord& record) {
          static_cast<std::vector<RingRecord>*>(to)->push_back(record);
        },
        &out);
    return out;
  }
  static std::vector<RingRecord> of(const std::vector<RingRecord>& all, EventType type) {
    std::vector<RingRecord> out;
    for (const RingRecord& record : all)
      if (record.type == static_cast<std::uint8_t>(type)) out.push_back(record);
    return out;
  }

  Host host_;
  Builder builder_;
  std::map<std::uint32_t, std::size_t> done_;
  std::unique_ptr<Fold> fold_;
};

TEST_F(Snapshot, SaysWhatIsSo) {
  const std::uint32_t forward = name("forward"), mine = name("mine"), role = name("parameter"),
                      step = name("step");
  builder_.on(0).begin("forward").end("forward").begin("step").end("step");
  builder_.begin("forward").on(1).begin("mine").on(0).begin("mine");
  builder_.tensor(64, 5000, 9).birth(0x10000, 8192, Kind::mmap_anon, format::kNoAccess, 3);
  builder_.birth(128, 200, Kind::heap, format::kSampled, 4).counters(700, 100, 3, 1);
  builder_.put(EventType::label, 0, 0, {64, 5000, format::halves(role, 0)});
  builder_.on(1).counters(50, 20, 2, 1);
  apply(2);
  const auto all = take();

  ASSERT_EQ(static_cast<EventType>(all[0].type), EventType::window) << "first of all";
  EXPECT_EQ(low(all[0].word[0]), 5u);
  EXPECT_EQ(high(all[0].word[0]), 2u) << "step 1";
  EXPECT_EQ(all[0].word[1], 999u);
  EXPECT_EQ(low(all[0].word[2]), 0u);
  EXPECT_EQ(high(all[0].word[2]), 1u) << "first update in step 0";
  EXPECT_EQ(all[0].word[3], 0u);

  const auto levels = of(all, EventType::level);
  ASSERT_EQ(levels.size(), 1u);
  EXPECT_EQ(levels[0].word[0], 5008u + 600 + 30) << "as given";
  EXPECT_EQ(levels[0].word[1], 5000u);
  EXPECT_EQ(levels[0].word[3], 630u);

  const auto flows = of(all, EventType::flows);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(low(flows[0].word[0]), 0u);
  EXPECT_EQ(flows[0].word[1], 700u);
  EXPECT_EQ(flows[0].word[4], 1u);

  const auto open = of(all, EventType::open_phase);
  ASSERT_EQ(open.size(), 3u);
  EXPECT_EQ(open[0].word[0], format::halves(1, mine));
  EXPECT_EQ(open[1].word[0], format::halves(0, forward)) << "the thread of the last mark is last";
  EXPECT_EQ(open[2].word[0], format::halves(0, mine));
  EXPECT_EQ(open[2].word[1], format::halves(1, 2));
  EXPECT_NE(step, 0u);

  const auto held = of(all, EventType::held);
  ASSERT_EQ(held.size(), 3u);
  for (const RingRecord& block : held) {
    EXPECT_EQ(high(block.word[4]), 2u);
    EXPECT_EQ(tests::world.defined.at(low(block.word[4])), "forward\x1fmine");
    if (block.word[0] == 64) {
      EXPECT_EQ(high(block.word[3]), role);
    }
    if (block.word[0] == 64) {
      EXPECT_EQ(block.flags, format::kTensor);
    }
    if (block.word[0] == 128) {
      EXPECT_EQ(block.flags, format::kSampled);
    }
    if (block.word[0] == 0x10000) {
      EXPECT_EQ(block.flags, format::kNoAccess);
    }
  }
}

TEST_F(Snapshot, TheLargestAreListed) {
  for (std::uint64_t i = 1; i <= 100; ++i) builder_.birth(i * 16, i <= 10 ? 1 << 20 : 5000);
  apply(1);
  const auto all = take(60);
  const auto held = of(all, EventType::held);
  EXPECT_EQ(held.size(), 10u);
  for (const RingRecord& block : held) EXPECT_EQ(block.word[1], 1u << 20);
  EXPECT_EQ(all[0].word[3], 90u);
}

TEST_F(Snapshot, AllMappingsAreListed) {
  for (std::uint64_t i = 1; i <= 100; ++i) builder_.birth(i * 16, 1 << 20);
  builder_.birth(0x10000, 4096, Kind::mmap_anon).birth(0x20000, 8192, Kind::mmap_file);
  apply(1);
  const auto all = take(60);
  const auto held = of(all, EventType::held);
  EXPECT_EQ(held.size(), 2u);
  EXPECT_EQ(all[0].word[3], 100u);
}

// Records of a thread that got no turn come later than those of others with later stamps.
TEST_F(Snapshot, SaysWhatLateRecordsWillEnd) {
  builder_.on(0).birth(16, 5000).birth(0x10000, 8192, Kind::mmap_anon);
  builder_.on(1).move(16, 32, 6000, 5000).remap(0x10000, 0x20000, 16384, 8192);
  builder_.on(0).birth(16, 7000).birth(0x10000, 4096, Kind::mmap_anon);
  done_[1] = 2; // late
  apply(2);
  const auto displaced = of(take(), EventType::displaced);
  ASSERT_EQ(displaced.size(), 2u);
  const auto& first = builder_.records(0);
  EXPECT_EQ(displaced[0].word[0], 16u);
  EXPECT_EQ(displaced[0].word[1], 5000u);
  EXPECT_EQ(displaced[0].word[4], first[2].stamp);
  EXPECT_EQ(displaced[0].word[5], first[0].stamp);
  EXPECT_EQ(displaced[1].word[0], 0x10000u);
  EXPECT_EQ(static_cast<Kind>(displaced[1].kind), Kind::mmap_anon);
  done_[1] = 0;
  apply(2);
  EXPECT_EQ(of(take(), EventType::displaced).size(), 0u);
}

TEST_F(Snapshot, SaysWhatDiedBeforeItsBirthCame) {
  builder_.on(0).birth(16, 5000).on(1).death(16, 5000);
  fold_->pass_lacks_records();
  fold_->apply(1, builder_.records(1)[0]);
  fold_->passed(false);
  const auto early = of(take(), EventType::early_death);
  ASSERT_EQ(early.size(), 1u);
  EXPECT_EQ(early[0].word[0], 16u);
  EXPECT_EQ(early[0].word[1], 5000u);
  EXPECT_EQ(early[0].word[5], builder_.records(1)[0].stamp);
  done_[1] = 1;
  apply(2);
  EXPECT_EQ(of(take(), EventType::early_death).size(), 0u);
}

TEST_F(Snapshot, ThreadsThatEndedAreForgotten) {
  for (std::uint32_t thread = 0; thread < 4; ++thread) builder_.on(thread).counters(10, 0, 1, 0);
  apply(4);
  tests::world.gone = {1, 2};
  EXPECT_EQ(of(take(), EventType::flows).size(), 2u);
}

// Forwards alone count steps until an optimizer shows: what was counted so was one step.
TEST_F(Snapshot, AStepPhaseTakesBackWhatForwardsCounted) {
  name("forward"), name("step");
  for (std::uint64_t i = 0; i < 3; ++i) builder_.begin("forward").birth(16 * (i + 1), 5000).end("forward");
  apply(1);
  EXPECT_EQ(high(take()[0].word[0]), 3u);
  builder_.begin("step");
  apply(1);
  const auto all = take();
  EXPECT_EQ(high(all[0].word[0]), 1u);
  for (const RingRecord& block : of(all, EventType::held)) EXPECT_EQ(high(block.word[4]), 1u);
}

TEST_F(Snapshot, MarksOfTheUserCountNoMoreOnceMemtraceFindsPhases) {
  name("forward"), name("backward");
  builder_.begin("forward", 0).end("forward").begin("forward", 0).birth(16, 5000).end("forward");
  apply(1);
  EXPECT_EQ(high(take()[0].word[0]), 2u);
  builder_.begin("backward");
  apply(1);
  const auto all = take();
  EXPECT_EQ(high(all[0].word[0]), 1u) << "this backward began step 0";
  EXPECT_EQ(high(of(all, EventType::held)[0].word[4]), 0u) << "before any step";
}

TEST_F(Snapshot, NumbersOfTheUserTakeOver) {
  name("forward");
  builder_.begin("forward").birth(16, 5000).end("forward").step(41).begin("forward").end("forward");
  apply(1);
  const auto all = take();
  EXPECT_EQ(high(all[0].word[0]), 42u);
  EXPECT_EQ(high(of(all, EventType::held)[0].word[4]), 0u);
}

} // namespace
} // namespace memtrace::rollup
