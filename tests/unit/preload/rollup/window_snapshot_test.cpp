// Purpose: what a window begins with, and that steps counted otherwise than it turned out are forgotten.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "builder.h"
#include "host.h"
#include "preload/format/window_events.h"
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
  Snapshot() : host_(tests::host()), rollup_(std::make_unique<Rollup>()) { rollup_->start(host_, false, 0, 0); }

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
    for (const auto& [thread, record] : all) rollup_->apply(thread, record);
    rollup_->passed(true);
  }
  std::vector<RingRecord> take(std::uint64_t most_held = 1000) {
    std::vector<RingRecord> out;
    rollup_->snapshot(
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
  std::unique_ptr<Rollup> rollup_;
};

// The first record of a snapshot.
format::WindowEvent window_of(const std::vector<RingRecord>& all) {
  return all.at(0).as<format::WindowEvent>();
}

TEST_F(Snapshot, HoldsLevelsFlowsPhasesAndBlocks) {
  const std::uint32_t forward = name("forward"), mine = name("mine"), role = name("parameter");
  name("step"); // only a known name counts an update
  builder_.on(0).begin("forward").end("forward").begin("step").end("step");
  builder_.begin("forward").on(1).begin("mine").on(0).begin("mine");
  builder_.tensor(64, 5000, 9).birth(0x10000, 8192, Kind::mmap_anon, format::kNoAccess, 3);
  builder_.birth(128, 200, Kind::heap, format::kSampled, 4).counters(700, 100, 3, 1);
  builder_.put(EventType::label, 0, 0, {64, 5000, format::halves(role, 0)});
  builder_.on(1).counters(50, 20, 2, 1);
  apply(2);
  const auto all = take();
  ASSERT_EQ(static_cast<EventType>(all[0].type), EventType::window) << "first of all";
  const format::WindowEvent window = window_of(all);
  EXPECT_EQ(window.number, 5u);
  EXPECT_EQ(window.step_plus_1, 2u) << "step 1";
  EXPECT_EQ(window.until, 999u);
  EXPECT_EQ(window.stepped, 0u);
  EXPECT_EQ(window.first_update_plus_1, 1u) << "first update in step 0";
  EXPECT_EQ(window.unlisted, 0u);

  const auto levels = of(all, EventType::level);
  ASSERT_EQ(levels.size(), 1u);
  const auto& level = levels[0].as<format::LevelEvent>();
  EXPECT_EQ(level.live, 5008 + 600 + 30) << "as given";
  EXPECT_EQ(level.tensor, 5000);
  EXPECT_EQ(level.small, 630);

  const auto flows = of(all, EventType::flows);
  ASSERT_EQ(flows.size(), 2u);
  const auto& first = flows[0].as<format::FlowsEvent>();
  EXPECT_EQ(first.thread, 0u);
  EXPECT_EQ(first.carried.allocated, 700u);
  EXPECT_EQ(first.carried.deaths, 1u);

  const auto open = of(all, EventType::open_phase);
  ASSERT_EQ(open.size(), 3u);
  const auto phase = [&](std::size_t i) { return open[i].as<format::OpenPhaseEvent>(); };
  EXPECT_EQ(phase(0).thread, 1u);
  EXPECT_EQ(phase(0).name, format::TextId{mine});
  EXPECT_EQ(phase(1).thread, 0u) << "the thread of the last mark is last";
  EXPECT_EQ(phase(1).name, format::TextId{forward});
  EXPECT_EQ(phase(2).thread, 0u);
  EXPECT_EQ(phase(2).name, format::TextId{mine});
  EXPECT_EQ(phase(2).depth_before, 1u);
  EXPECT_EQ(phase(2).step_plus_1, 2u);

  const auto held = of(all, EventType::held);
  ASSERT_EQ(held.size(), 3u);
  const std::map<std::uint64_t, int> flags = {
      {64, format::kTensor}, {128, format::kSampled}, {0x10000, format::kNoAccess}};
  for (const RingRecord& record : held) {
    const auto& block = record.as<format::HeldEvent>();
    EXPECT_EQ(block.step_plus_1, 2u);
    EXPECT_EQ(tests::world.defined.at(static_cast<std::uint32_t>(block.path)), "forward\x1fmine");
    if (block.address == 64) {
      EXPECT_EQ(block.role, format::TextId{role});
    }
    EXPECT_EQ(record.flags, flags.at(block.address));
  }
}

TEST_F(Snapshot, TheLargestAreListed) {
  for (std::uint64_t i = 1; i <= 100; ++i) builder_.birth(i * 16, i <= 10 ? 1 << 20 : 5000);
  apply(1);
  const auto all = take(60);
  const auto held = of(all, EventType::held);
  EXPECT_EQ(held.size(), 10u);
  for (const RingRecord& block : held) EXPECT_EQ(block.as<format::HeldEvent>().given, 1u << 20);
  EXPECT_EQ(window_of(all).unlisted, 90u);
}

TEST_F(Snapshot, AllMappingsAreListed) {
  for (std::uint64_t i = 1; i <= 100; ++i) builder_.birth(i * 16, 1 << 20);
  builder_.birth(0x10000, 4096, Kind::mmap_anon).birth(0x20000, 8192, Kind::mmap_file);
  apply(1);
  const auto all = take(60);
  const auto held = of(all, EventType::held);
  EXPECT_EQ(held.size(), 2u);
  EXPECT_EQ(window_of(all).unlisted, 100u);
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
  const auto& block = displaced[0].as<format::DisplacedEvent>();
  EXPECT_EQ(block.address, 16u);
  EXPECT_EQ(block.given, 5000u);
  EXPECT_EQ(block.by, first[2].stamp);
  EXPECT_EQ(block.birth, first[0].stamp);
  EXPECT_EQ(displaced[1].as<format::DisplacedEvent>().address, 0x10000u);
  EXPECT_EQ(static_cast<Kind>(displaced[1].kind), Kind::mmap_anon);
  done_[1] = 0;
  apply(2);
  EXPECT_EQ(of(take(), EventType::displaced).size(), 0u);
}

TEST_F(Snapshot, SaysWhatDiedBeforeItsBirthCame) {
  builder_.on(0).birth(16, 5000).on(1).death(16, 5000);
  rollup_->pass_lacks_records();
  rollup_->apply(1, builder_.records(1)[0]);
  rollup_->passed(false);
  const auto early = of(take(), EventType::early_death);
  ASSERT_EQ(early.size(), 1u);
  const auto& end = early[0].as<format::EarlyDeathEvent>();
  EXPECT_EQ(end.address, 16u);
  EXPECT_EQ(end.given, 5000u);
  EXPECT_EQ(end.death, builder_.records(1)[0].stamp);
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
  EXPECT_EQ(window_of(take()).step_plus_1, 3u);
  builder_.begin("step");
  apply(1);
  const auto all = take();
  EXPECT_EQ(window_of(all).step_plus_1, 1u);
  for (const RingRecord& block : of(all, EventType::held))
    EXPECT_EQ(block.as<format::HeldEvent>().step_plus_1, 1u);
}

TEST_F(Snapshot, MarksOfTheUserCountNoMoreOnceMemtraceFindsPhases) {
  name("forward"), name("backward");
  builder_.begin("forward", 0).end("forward").begin("forward", 0).birth(16, 5000).end("forward");
  apply(1);
  EXPECT_EQ(window_of(take()).step_plus_1, 2u);
  builder_.begin("backward");
  apply(1);
  const auto all = take();
  EXPECT_EQ(window_of(all).step_plus_1, 1u) << "this backward began step 0";
  EXPECT_EQ(of(all, EventType::held)[0].as<format::HeldEvent>().step_plus_1, 0u) << "before any step";
}

TEST_F(Snapshot, NumbersOfTheUserTakeOver) {
  name("forward");
  builder_.begin("forward").birth(16, 5000).end("forward").step(41).begin("forward").end("forward");
  apply(1);
  const auto all = take();
  EXPECT_EQ(window_of(all).step_plus_1, 42u);
  EXPECT_EQ(of(all, EventType::held)[0].as<format::HeldEvent>().step_plus_1, 0u);
}

} // namespace
} // namespace memtrace::rollup
