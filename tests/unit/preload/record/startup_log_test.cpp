// Purpose: the log of a process too small to leave a file: whatever folds, sums hold and live blocks stay.
#include "preload/record/startup_log.h"
#include "preload/blocks/recording.h"
#include "preload/blocks/small_blocks.h"
#include "preload/os/timestamp.h"
#include "preload/record/emit.h"
#include "preload/record/live_levels.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "child.h"
#include "reading.h"
#include "tests/unit/seed.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::Kind;
using format::RingRecord;
using format::SmallTotals;
using tests::in_child;
using tests::is;
using tests::Scratch;
using tests::operator+=;

constexpr std::size_t kCapacity = 16 * 1024; // of the log

// What a program did, as it knows it itself.
struct Model {
  std::mutex mutex;
  std::map<std::uint64_t, HookedBlock> live;
  SmallTotals flows{}; // tracked and small together
  std::uint64_t tracked_births = 0;
  std::uint64_t next = 0x1000000000;
  std::uint64_t inherited = 0x20000000000; // blocks of before the fork
  std::uint64_t unknown_deaths = 0;
};

HookedBlock random_block(Model& model, std::mt19937_64& random) {
  const std::uint64_t given = 4096 + random() % 65536;
  HookedBlock block{model.next, given, given, Kind::heap};
  if (random() % 3 == 0) block.kind = Kind::mmap_anon;
  if (random() % 64 == 0) block.kind = Kind::mmap_file;
  if (random() % 5 == 0) block.flags = format::kTensor;
  // Half of the addresses were used before.
  if (const std::uint64_t again = 0x10000000 + random() % 512 * 0x100000; !model.live.contains(again)) {
    block.address = again;
  } else {
    model.next += 0x100000;
  }
  return block;
}

void be_born(Model& model, std::mt19937_64& random, const Recording& here) {
  const std::lock_guard guard(model.mutex);
  if (model.live.size() > 2000) return;
  const HookedBlock block = random_block(model, random);
  here.born(block);
  model.live.insert_or_assign(block.address, block);
  model.flows += {block.given, 0, 1, 0};
  ++model.tracked_births;
}

void die(Model& model, std::mt19937_64& random, const Recording& here) {
  const std::lock_guard guard(model.mutex);
  if (model.live.empty()) return;
  auto at = model.live.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(model.live.size(), 40)));
  here.died(at->second, draw_stamp());
  model.flows += {0, at->second.given, 0, 1};
  model.live.erase(at);
}

void move(Model& model, std::mt19937_64& random, const Recording& here) {
  const std::lock_guard guard(model.mutex);
  if (model.live.empty() || model.live.begin()->second.kind == Kind::mmap_file) return;
  const HookedBlock from = model.live.begin()->second;
  const format::Stamp death = draw_stamp();
  model.live.erase(model.live.begin());
  HookedBlock to = random_block(model, random);
  to.kind = from.kind;
  here.moved(from.address, from.given, to, death);
  model.live.insert_or_assign(to.address, to);
  model.flows += {to.given, from.given, 1, 1};
  ++model.tracked_births;
}

void die_unknown(Model& model, const Recording& here) {
  const std::lock_guard guard(model.mutex);
  here.died({model.inherited += 0x100000, 5000, 0, Kind::heap}, draw_stamp());
  model.flows += {0, 5000, 0, 1};
  ++model.unknown_deaths;
}

void small(Model& model, std::mt19937_64& random) {
  const std::uint64_t bytes = 16 + random() % 2000;
  const bool birth = random() % 2 == 0;
  birth ? small_born(bytes) : small_died(bytes);
  const std::lock_guard guard(model.mutex);
  if (birth) {
    model.flows += {bytes, 0, 1, 0};
  } else {
    model.flows += {0, bytes, 0, 1};
  }
}

void live_a_while(Model& model, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 25'000; ++i) {
    const std::uint64_t choice = random() % 100;
    if (choice >= 80) {
      small(model, random);
      continue;
    }
    const Recording here;
    if (choice < 38) be_born(model, random, here);
    if (choice >= 38 && choice < 74) die(model, random, here);
    if (choice >= 74 && choice < 79) move(model, random, here);
    if (choice == 79 && i % 8 == 0) die_unknown(model, here);
  }
}

// The trace, read back, says the same as the model.
void compare(const std::vector<tests::Segment>& segments, const Model& model) {
  std::vector<RingRecord> events;
  for (const format::Source source : {format::Source::cold, format::Source::ring})
    for (const auto& [thread, records] : by_thread(segments, source))
      events.insert(events.end(), records.begin(), records.end());
  std::sort(events.begin(), events.end(),
            [](const RingRecord& a, const RingRecord& b) { return a.stamp < b.stamp; });
  SmallTotals sum{};
  std::map<std::uint64_t, std::uint64_t> live;
  std::uint64_t births = 0, unknown = 0;
  for (const RingRecord& event : events) {
    sum += tests::flows_of(event);
    const auto [address, given] = event.as<format::BlockExtent>();
    if (is(event, EventType::birth)) {
      EXPECT_TRUE(live.emplace(address, given).second) << "born twice";
      sum += {given, 0, 1, 0};
      ++births;
    } else if (is(event, EventType::death)) {
      const auto at = live.find(address);
      if (at == live.end()) {
        ++unknown;
      } else {
        EXPECT_EQ(at->second, given);
        live.erase(at);
      }
      sum += {0, given, 0, 1};
    } else {
      EXPECT_TRUE(is(event, EventType::counters)) << int{event.type};
    }
  }
  EXPECT_LT(births, model.tracked_births) << "nothing was folded: this tests nothing";
  EXPECT_EQ(unknown, model.unknown_deaths);
  EXPECT_EQ(sum.allocated, model.flows.allocated);
  EXPECT_EQ(sum.freed, model.flows.freed);
  EXPECT_EQ(sum.births, model.flows.births);
  EXPECT_EQ(sum.deaths, model.flows.deaths);
  ASSERT_EQ(live.size(), model.live.size());
  for (const auto& [address, block] : model.live) {
    ASSERT_TRUE(live.contains(address));
    EXPECT_EQ(live[address], block.given);
  }
}

void fold_and_compare(std::uint64_t seed) {
  const Scratch scratch;
  in_child([&] {
    tests::become_cold();
    constexpr int kThreads = 4;
    Model model;
    std::barrier done(kThreads + 1), hot(kThreads + 1);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        live_a_while(model, seed * 100 + t);
        done.arrive_and_wait();
        hot.arrive_and_wait();
        const Recording here;
        here.tick(); // what folding gave back to this thread, and its own last small flows
      });
    done.arrive_and_wait();
    tests::become_hot(scratch);
    flush_startup_log();
    hot.arrive_and_wait();
    for (std::thread& thread : threads) thread.join();
    drain_rings(true);
    EXPECT_EQ(tests::lost_in_all(), 0u);
    compare(tests::read_segments(scratch.file("t.memtrace")), model);
  });
}

TEST(Cold, FoldsLikeTheModel) {
  const std::uint64_t first = tests::seed(1);
  for (std::uint64_t seed = first; seed < first + 3 && !HasFailure(); ++seed) fold_and_compare(seed);
}

TEST(Cold, CrowdedAsksForRecordingAndKeepsAll) {
  const Scratch scratch;
  in_child([&] {
    tests::become_cold();
    Thread& thread = *this_thread();
    for (std::uint64_t i = 1; i < kCapacity; ++i)
      ASSERT_EQ(append_to_startup_log(thread, tests::birth_of(i * 0x987654321000, i * 0x1234567890, i)),
                AppendResult::yes)
          << i;
    EXPECT_EQ(append_to_startup_log(thread, tests::birth_of(kCapacity * 4096, 4096, kCapacity)),
              AppendResult::crowded)
        << "full of live blocks";
    tests::open_files(scratch);
    EXPECT_EQ(tests::lost_in_all(), 0u);
    EXPECT_EQ(append_to_startup_log(thread, tests::birth_of(4096, 4096, kCapacity + 1)), AppendResult::full)
        << "no room at all";
    EXPECT_EQ(tests::lost_for(format::Loss::cold), 1u);
    flush_startup_log();
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    const auto records = by_thread(segments, format::Source::cold).at(thread.index);
    ASSERT_EQ(records.size(), kCapacity);
    for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].stamp, i + 1);
    EXPECT_GT(segments.size(), 1u) << "more than one buffer full";
  });
}

// The one record of blocks that left the log.
RingRecord folded_blocks_in(const Scratch& scratch) {
  tests::open_files(scratch);
  flush_startup_log();
  RingRecord found{};
  for (const auto& [thread, records] :
       by_thread(tests::read_segments(scratch.file("t.memtrace")), format::Source::cold))
    for (const RingRecord& record : records) {
      if (!is(record, EventType::counters)) continue;
      EXPECT_EQ(found.type, 0u) << "more than one";
      EXPECT_EQ(record.flags, format::kBefore | format::kBlocks);
      found = record;
    }
  return found;
}

TEST(Cold, AHalfFullLogGoesOn) {
  const Scratch scratch;
  in_child([&] {
    tests::become_cold();
    Thread& thread = *this_thread();
    // 10,000 live blocks, then pairs for ever.
    for (std::uint64_t i = 1; i <= 10'000; ++i)
      append_to_startup_log(thread, tests::birth_of(i << 20, 4096, i));
    for (std::uint64_t i = 0; i < 50'000; ++i) {
      RingRecord record = tests::birth_of(0x5000, 8192, 20'000 + 2 * i);
      ASSERT_EQ(append_to_startup_log(thread, record), AppendResult::yes);
      record.type = static_cast<std::uint8_t>(EventType::death);
      ++record.stamp;
      ASSERT_EQ(append_to_startup_log(thread, record), AppendResult::yes);
    }
    EXPECT_EQ(thread.folded.births, 0u) << "no small blocks";
    const SmallTotals blocks = folded_blocks_in(scratch).as<format::CountersEvent>().flows;
    EXPECT_EQ(blocks.births, blocks.deaths);
    EXPECT_EQ(blocks.allocated, blocks.births * 8192);
    EXPECT_EQ(blocks.freed, blocks.allocated);
    EXPECT_GT(blocks.births, 45'000u);
  });
}

TEST(Cold, ReservationsFoldWithoutFlows) {
  const Scratch scratch;
  in_child([&] {
    tests::become_cold();
    Thread& thread = *this_thread();
    for (std::uint64_t i = 0; i < kCapacity; ++i) {
      RingRecord record = tests::birth_of(0x5000, 1 << 20, 2 * i);
      record.kind = static_cast<std::uint8_t>(Kind::mmap_anon);
      record.flags = format::kNoAccess;
      append_to_startup_log(thread, record);
      record.type = static_cast<std::uint8_t>(EventType::death);
      record.flags = format::kRange;
      ++record.stamp;
      append_to_startup_log(thread, record);
    }
    EXPECT_EQ(thread.folded.births, 0u);
    EXPECT_EQ(folded_blocks_in(scratch).type, 0u);
  });
}

// Their bytes were counted when they were given and freed.
TEST(Cold, SampledPairsFoldWithoutFlows) {
  in_child([] {
    tests::become_cold();
    Thread& thread = *this_thread();
    constexpr std::uint32_t kCarried = 77;
    for (std::uint64_t i = 0; i < kCapacity; ++i) {
      RingRecord record = tests::birth_of(0x5000, 640, 2 * i);
      record.flags = format::kSampled;
      format::set_carried(record, {kCarried, 0, 1, 0});
      append_to_startup_log(thread, record);
      record.type = static_cast<std::uint8_t>(EventType::death);
      format::set_carried(record, {});
      ++record.stamp;
      append_to_startup_log(thread, record);
    }
    EXPECT_GE(thread.folded.births, kCapacity / 2) << "nothing folded: this tests nothing";
    EXPECT_EQ(thread.folded.allocated, thread.folded.births * kCarried);
    EXPECT_EQ(thread.folded.deaths, 0u);
    EXPECT_EQ(thread.folded.freed, 0u);
  });
}

TEST(Cold, KeepsWhatIsNoPair) {
  const Scratch scratch;
  in_child([&] {
    tests::become_cold();
    Thread& thread = *this_thread();
    const auto put = [&](EventType type, std::uint64_t address, std::uint64_t given, std::uint16_t flags,
                         Kind kind) {
      RingRecord record = tests::birth_of(address, given, draw_stamp());
      record.type = static_cast<std::uint8_t>(type);
      record.kind = static_cast<std::uint8_t>(kind);
      record.flags = flags;
      append_to_startup_log(thread, record);
    };
    const std::uint16_t device = 1 << format::kMemoryShift;
    put(EventType::birth, 0x10000, 8192, 0, Kind::mmap_anon);
    put(EventType::death, 0x10000, 4096, format::kRange, Kind::mmap_anon); // a part
    put(EventType::birth, 0x20000, 8192, device, Kind::device);
    put(EventType::death, 0x20000, 8192, device, Kind::device);
    put(EventType::birth, 0x30000, 8192, 0, Kind::mmap_file);
    put(EventType::death, 0x30000, 8192, format::kRange, Kind::mmap_file);
    put(EventType::phase_begin, 0, 0, 0, Kind::none);
    put(EventType::death, 0x40000, 8192, 0, Kind::heap); // inherited
    for (std::uint64_t i = 0; i < kCapacity; ++i)        // until it folds
      put(i % 2 == 0 ? EventType::birth : EventType::death, 0x50000, 4096, 0, Kind::heap);
    tests::open_files(scratch);
    flush_startup_log();
    const auto records = by_thread(tests::read_segments(scratch.file("t.memtrace")), format::Source::cold);
    ASSERT_GE(records.at(thread.index).size(), 8u);
    ASSERT_LT(records.at(thread.index).size(), 100u) << "it did fold";
    const std::uint64_t kept[] = {0x10000, 0x10000, 0x20000, 0x20000, 0x30000, 0x30000, 0, 0x40000};
    for (std::size_t i = 0; i < std::size(kept); ++i)
      EXPECT_EQ(records.at(thread.index)[i].as<format::BlockExtent>().address, kept[i]);
  });
}

} // namespace
} // namespace memtrace::record
