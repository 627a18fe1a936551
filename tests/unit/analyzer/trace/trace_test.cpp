// Purpose: files that are whole, torn, foreign, damaged, and rings of processes that were killed.
#include "analyzer/trace/trace.h"

#include <gtest/gtest.h>

#include <cstring>

#include "builder.h"
#include "trace/read_files.h"

namespace memtrace::trace {
namespace {

using format::EventType;
using format::Kind;
using tests::Builder;
using tests::RingSlotContent;

TEST_F(Files, AWholeTraceIsReadInOrder) {
  Builder builder = births(500);
  const Read out = read(write(builder.bytes(64)));
  EXPECT_EQ(addresses(out.events), count_up(0, 500));
  EXPECT_EQ(out.counts.records, 500u);
  EXPECT_EQ(out.losses.total(), 0u);
  EXPECT_EQ(out.losses.damaged_bytes, 0u);
  for (std::size_t i = 0; i < out.events.size(); ++i) EXPECT_EQ(out.events[i].ordinal, i + 1);
}

TEST_F(Files, NotedRankIsTaken) {
  const std::pair<std::vector<std::string>, std::uint32_t> cases[] = {{{"rank=2", "world-size=4"}, 2},
                                                                      {{"rank=4", "world-size=4"}, kNoRank},
                                                                      {{"rank=2"}, kNoRank},
                                                                      {{"rank=2x", "world-size=4"}, kNoRank},
                                                                      {{"rank=-1", "world-size=4"}, kNoRank}};
  for (const auto& [notes, rank] : cases) {
    Builder builder;
    for (const std::string& note : notes) builder.note(note);
    builder.exit(0);
    EXPECT_EQ(Trace(write(builder.bytes())).facts().rank, rank) << notes.front();
  }
}

// In each of two nodes, a launcher starts one process, which spawns four ranks.
TEST_F(Files, NotedRankReplacesThatOfTheNode) {
  Builder builder;
  builder.rank(1, 2).note("rank=5").note("world-size=8").exit(0);
  EXPECT_EQ(Trace(write(builder.bytes())).facts().rank, 5u);
  Builder alone;
  alone.rank(1, 2).note("rank=0").note("world-size=1").exit(0);
  EXPECT_EQ(Trace(write(alone.bytes())).facts().rank, 1u);
}

TEST_F(Files, FactsAreRead) {
  Builder builder;
  builder.note("color=red").note("color=blue").parameters(10, 40, 2).exit(3);
  const Trace trace(write(builder.bytes()));
  const Facts& facts = trace.facts();
  EXPECT_EQ(facts.pid, 4242u);
  EXPECT_EQ(facts.exe, "/usr/bin/python3");
  EXPECT_EQ(facts.argv.size(), 30u);
  EXPECT_EQ(facts.host, "node");
  EXPECT_EQ(facts.rank, kNoRank);
  EXPECT_EQ(facts.note("color"), "blue");
  EXPECT_EQ(facts.note("colo"), std::nullopt);
  ASSERT_TRUE(facts.end.has_value());
  EXPECT_EQ(facts.end->code, 3u);
  ASSERT_TRUE(facts.parameters.has_value());
  EXPECT_EQ(facts.parameters->bytes, 40u);
}

TEST_F(Files, WhatIsNoTraceIsRefusedInOneLine) {
  EXPECT_NE(fault("").find("the file is empty"), std::string::npos);
  EXPECT_NE(fault(std::string(100000, 'x')).find("something else"), std::string::npos);
  EXPECT_NE(fault("MTS").find("something else"), std::string::npos);
  EXPECT_NE(fault(std::string("MTS\x02") + "short").find("the file ends"), std::string::npos);
  Builder builder = births(3);
  std::string other = builder.bytes();
  other[4] = 9;
  other.resize(80);
  EXPECT_NE(fault(other).find("version " + std::to_string(format::kVersion) + ", found 9"), std::string::npos);
  for (const std::string& text : {fault(""), fault("x")}) {
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_NE(text.find(path()), std::string::npos);
    EXPECT_NE(text.find("at byte 0"), std::string::npos);
  }
  EXPECT_THROW(Trace("/nonexistent/x.memtrace"), ReadError);
  EXPECT_THROW(Trace(scratch_.path()), ReadError);
}

TEST_F(Files, ATornEndIsReadUpToTheTear) {
  Builder builder = births(10);
  const std::string whole = builder.definitions() + builder.segment(0, 0, 5);
  const std::string torn = builder.segment(0, 5, 5);
  for (std::size_t cut = 1; cut < torn.size(); ++cut) {
    const Read out = read(write(whole + torn.substr(0, cut)));
    EXPECT_EQ(addresses(out.events), count_up(0, 5));
    EXPECT_EQ(out.losses.damaged_bytes, cut);
    EXPECT_EQ(out.losses.damaged_at, whole.size());
    EXPECT_EQ(out.losses.total(), cut >= 64 ? 5u : 0u) << "the header says what is missing";
  }
}

TEST_F(Files, ADamagedMiddleIsSkippedAndCounted) {
  Builder builder = births(15);
  const std::string head = builder.definitions() + builder.segment(0, 0, 5);
  std::string middle = builder.segment(0, 5, 5);
  middle[70] = static_cast<char>(middle[70] ^ 1);
  const Read out = read(write(head + middle + builder.segment(0, 10, 5)));
  std::vector<std::uint64_t> expected = count_up(0, 5);
  for (const std::uint64_t address : count_up(10, 15)) expected.push_back(address);
  EXPECT_EQ(addresses(out.events), expected);
  EXPECT_EQ(out.losses.events.at("gap"), 5u);
  EXPECT_EQ(out.losses.damaged_bytes, middle.size());
}

TEST_F(Files, FlippedBytesNeverCrashAndNeverPass) {
  Builder builder = births(12);
  builder.begin("step").end("step").exit(0);
  const std::string good = builder.bytes(4);
  const Read whole = read(write(good));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1 << bit);
      const Read out = read(write(bad));
      EXPECT_LT(out.events.size(), whole.events.size() + 1);
      EXPECT_GT(out.losses.damaged_bytes, 0u) << "a flip at " << at << " went unseen";
    }
  }
}

TEST_F(Files, EveryLengthCanBeRead) {
  Builder builder = births(12);
  const std::string good = builder.bytes(4);
  const std::size_t first = builder.definitions().size();
  std::size_t before = 0;
  for (std::size_t length = 0; length <= good.size(); ++length) {
    if (length < first) {
      EXPECT_NE(fault(good.substr(0, length)), "no fault");
      continue;
    }
    const Read out = read(write(good.substr(0, length)));
    EXPECT_GE(out.events.size(), before);
    before = out.events.size();
  }
  EXPECT_EQ(before, 12u);
}

TEST_F(Files, ASegmentTwiceCountsOnce) {
  Builder builder = births(10);
  const std::string bytes = builder.definitions() + builder.segment(0, 0, 6) + builder.segment(0, 0, 6) +
                            builder.segment(0, 4, 6) + builder.segment(0, 2, 3);
  const Read out = read(write(bytes));
  EXPECT_EQ(addresses(out.events), count_up(0, 10));
  EXPECT_EQ(out.losses.total(), 0u);
}

TEST_F(Files, RingsAreTakenOnceAndOnlyWhatIsNotInSegments) {
  Builder builder = births(20);
  const auto& all = builder.records(0);
  write(builder.definitions() + builder.segment(0, 0, 12));
  for (const std::size_t tail : {std::size_t{5}, std::size_t{12}}) {
    tests::write_file(
        rings(),
        tests::ring_file({{0, tail, {all.begin() + static_cast<std::ptrdiff_t>(tail), all.end()}, {}}}));
    const Read out = read(path());
    EXPECT_EQ(addresses(out.events), count_up(0, 20)) << "tail " << tail;
    EXPECT_EQ(out.losses.total(), 0u);
  }
  tests::write_file(rings(), tests::ring_file({{0, 14, {all.begin() + 14, all.end()}, {}}}));
  EXPECT_EQ(read(path()).losses.events.at("gap"), 2u);
}

TEST_F(Files, RecordsThatWereNotCommittedEndTheRing) {
  Builder builder = births(20);
  const auto& all = builder.records(0);
  write(builder.definitions() + builder.segment(0, 0, 10));
  std::string ring = tests::ring_file({{0, 10, {all.begin() + 10, all.end()}, {}}});
  constexpr std::size_t kRing = 8 * format::kChunkBytes; // the first place for a long ring
  std::memset(ring.data() + kRing + 15 * sizeof(format::RingRecord), 0, 4);
  tests::write_file(rings(), ring);
  EXPECT_EQ(addresses(read(path()).events), count_up(0, 15));
}

TEST_F(Files, RingsWrapAround) {
  Builder builder = births(format::kRingRecords + 50);
  const auto& all = builder.records(0);
  write(builder.definitions() + builder.segment(0, 0, format::kRingRecords - 7));
  tests::write_file(rings(),
                    tests::ring_file({{0, format::kRingRecords - 7, {all.end() - 57, all.end()}, {}}}));
  EXPECT_EQ(addresses(read(path()).events), count_up(0, format::kRingRecords + 50));
}

TEST_F(Files, RingsOfAnotherTraceAreLeftAlone) {
  Builder builder = births(5);
  write(builder.definitions() + builder.segment(0, 0, 3));
  tests::write_file(
      rings(), tests::ring_file({{0, 3, {builder.records(0).begin() + 3, builder.records(0).end()}, {}}}, {},
                                Builder::kTraceId + 1));
  EXPECT_EQ(addresses(read(path()).events), count_up(0, 3));
}

TEST_F(Files, RingsElsewhereAreFoundByTheNote) {
  Builder builder = births(5);
  const std::string elsewhere = scratch_.file("spool.rings");
  builder.on(1).note("rings=" + elsewhere);
  write(builder.definitions() + builder.segment(0, 0, 3) + builder.segment(1, 0, 1));
  tests::write_file(elsewhere,
                    tests::ring_file({{0, 3, {builder.records(0).begin() + 3, builder.records(0).end()}, {}}}));
  EXPECT_EQ(addresses(read(path()).events), count_up(0, 5));
}

TEST_F(Files, DamagedRingsNeverCrash) {
  Builder builder = births(8);
  write(builder.definitions() + builder.segment(0, 0, 4));
  const std::string good =
      tests::ring_file({{0, 4, {builder.records(0).begin() + 4, builder.records(0).end()}, {}}});
  for (std::size_t at = 0; at < format::kPage + 128; ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0xFF);
    tests::write_file(rings(), bad);
    EXPECT_GE(read(path()).events.size(), 4u);
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{100}, format::kPage, format::kPage + 10,
                                   2 * format::kPage, 2 * format::kPage + 6 * 64, good.size() - 1}) {
    tests::write_file(rings(), good.substr(0, length));
    const auto out = read(path());
    EXPECT_GE(out.events.size(), 4u);
    if (length >= format::kPage) { // one slot is used
      const std::size_t used = format::kPage + format::kSlotBytes;
      EXPECT_EQ(out.losses.damaged_bytes != 0, length < used) << length;
    }
  }
  tests::write_file(rings(), good);
  EXPECT_EQ(read(path()).losses.damaged_bytes, 0u);
}

TEST_F(Files, LossesAreNamed) {
  Builder builder = births(5);
  builder.note("lost.disk=7");
  write(builder.bytes());
  EXPECT_EQ(read(path()).losses.events.at("disk"), 7u) << "of a process that ended in an orderly way";
  tests::write_file(rings(), tests::ring_file({}, {{format::Loss::bound, 3}}));
  const Losses losses = read(path()).losses;
  EXPECT_EQ(losses.events.at("bound"), 3u);
  EXPECT_EQ(losses.total(), 10u);
}

TEST_F(Files, PausesOfANote) {
  Builder builder = births(5);
  builder.note("pauses=5000000 3000000 1 0 0 0 1 x");
  write(builder.bytes());
  const format::Pauses pauses = Trace(path()).facts().pauses;
  EXPECT_EQ(pauses.sum_ns, 5'000'000u);
  EXPECT_EQ(pauses.longest_ns, 3'000'000u);
  EXPECT_EQ(pauses.count[0], 1u);
  EXPECT_EQ(pauses.count[4], 1u);
  EXPECT_EQ(pauses.count[8], 0u);
}

TEST_F(Files, TheRestOfSmallFlowsComesFromTheRing) {
  Builder builder;
  builder.birth(1, 8192, Kind::heap, 0, 0, 0, {100, 40, 10, 4}).counters(1000, 0, 5, 0);
  write(builder.definitions() + builder.segment(0, 0, 2));
  tests::write_file(rings(), tests::ring_file({{0, 2, {}, {1600, 50, 20, 5}}}));
  const Read out = read(path());
  std::uint64_t allocated = 0;
  std::uint64_t freed = 0;
  for (const Event& event : out.events) {
    if (event.type != EventType::counters) continue;
    const format::SmallTotals& flows = event.as<format::CountersEvent>().flows;
    allocated += flows.allocated, freed += flows.freed;
  }
  EXPECT_EQ(allocated, 1600u);
  EXPECT_EQ(freed, 50u);
  EXPECT_EQ(out.counts.small_error(), 1000u);
}

TEST_F(Files, LevelsAreOffByWhatTheNextRecordsBring) {
  Builder builder;
  builder.on(0).counters(10, 0, 1, 0).on(1).counters(20, 0, 1, 0);
  builder.on(0).counters(500, 900, 1, 1).on(1).counters(300, 0, 1, 0); // both wait at once
  builder.on(0).counters(1000, 0, 1, 0);                               // alone
  const Read out = read(write(builder.bytes()));
  EXPECT_EQ(out.counts.too_low, 1300u);
  EXPECT_EQ(out.counts.too_high, 900u);
}

// A thread from before recording began. Its flows may have been there at each level before its first record.
TEST_F(Files, LevelsAreOffByWhatAThreadHadBeforeItsFirstRecord) {
  Builder builder;
  builder.on(0).counters(10, 0, 1, 0).on(0).counters(500, 0, 1, 0).on(0).birth(1, 8192, Kind::heap);
  builder.on(1).counters(300, 40, 3, 1);
  const Read out = read(write(builder.bytes()));
  EXPECT_EQ(out.counts.too_low, 800u);
  EXPECT_EQ(out.counts.too_high, 40u);
}

// Of 228 runs with 512 threads, two admitted 5 KB too little: the records of large blocks brought one small
// block each.
TEST_F(Files, LevelsAreOffByTheSmallBlockBeforeALargeOne) {
  Builder builder;
  builder.on(0).counters(10, 0, 1, 0).on(0).counters(500, 0, 1, 0).on(0).birth(1, 8192, Kind::heap);
  for (std::uint32_t thread = 1; thread < 4; ++thread)
    builder.on(thread).birth(2 + thread, 8192, Kind::heap, 0, 0, 0, {100, 0, 1, 0});
  EXPECT_EQ(read(write(builder.bytes())).counts.too_low, 800u);
}

// The shared slot has no totals of the threads that share it.
TEST_F(Files, WhatThreadsOfTheSharedSlotDidLastIsNotKnown) {
  Builder builder;
  builder.on(0).counters(10, 0, 1, 0);
  EXPECT_TRUE(read(write(builder.bytes())).counts.end_known);
  builder.on(format::kSharedThread).counters(10, 0, 1, 0);
  EXPECT_FALSE(read(write(builder.bytes())).counts.end_known);
}

TEST_F(Files, TotalsBehindWhatWasSeenLeaveTheEndUnknown) {
  Builder builder;
  builder.on(0).counters(1000, 0, 5, 0);
  write(builder.bytes());
  tests::write_file(rings(), tests::ring_file({{0, 1, {}, {500, 0, 3, 0}}}));
  EXPECT_FALSE(read(path()).counts.end_known);
}

TEST_F(Files, LevelsAreNotOffByTheFirstBlockOfAThread) {
  Builder builder;
  for (std::uint32_t thread = 0; thread < 5; ++thread) builder.on(thread).counters(1000, 0, 1, 0);
  const Read out = read(write(builder.bytes()));
  EXPECT_EQ(out.counts.too_low, 1000u);
}

// 100,000 blocks that came and went before recording began made each level uncertain by all their bytes.
TEST_F(Files, WhatCameBeforeRecordingIsCertainButForWhatIsLeft) {
  Builder builder;
  builder.counters(100, 0, 1, 0);
  builder.put(EventType::counters, 0, format::kBefore, {5000, 4000, 5, 4});
  builder.put(EventType::counters, 0, format::kBefore | format::kBlocks, {900'000, 900'000, 90, 90});
  write(builder.definitions() + builder.segment(0, 0, 3));
  tests::write_file(rings(), tests::ring_file({{0, 3, {}, {5400, 4000, 7, 4}}}));
  const Read out = read(path());
  EXPECT_EQ(out.counts.too_low, 1000u);
  EXPECT_EQ(out.counts.too_high, 300u) << "what came after the last record is given with that record";
  EXPECT_TRUE(out.counts.end_known);
  std::uint64_t allocated = 0;
  for (const Event& event : out.events)
    if (event.type == EventType::counters) allocated += event.as<format::CountersEvent>().flows.allocated;
  EXPECT_EQ(allocated, 905'400u) << "300 bytes after the last record: the blocks are not in the ring's totals";
}

TEST_F(Files, TextsInChunksAndIdsThatWereLost) {
  Builder builder;
  const std::string longer(333, 'q');
  const std::uint32_t id = builder.text(longer);
  const Trace trace(write(builder.bytes()));
  EXPECT_EQ(trace.definitions().text(format::TextId{id}), longer);
  EXPECT_EQ(trace.definitions().text(format::TextId{9999}), "text#9999?");
  EXPECT_EQ(trace.definitions().text(format::TextId{0}), "");
  EXPECT_TRUE(trace.definitions().frames(format::StackId{77}).empty());
}

TEST_F(Files, StacksThatRunInCirclesEnd) {
  Builder builder;
  builder.native_frame(0x1000, 2);
  builder.native_frame(0x2000, 1);
  const Trace trace(write(builder.bytes()));
  bool complete = true;
  EXPECT_LE(trace.definitions().frames(format::StackId{1}, &complete).size(), 1024u);
  EXPECT_FALSE(complete);
}

} // namespace
} // namespace memtrace::trace
