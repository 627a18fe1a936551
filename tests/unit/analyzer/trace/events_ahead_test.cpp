// Purpose: a second thread that decodes ahead gives the batches that one thread gives.
#include "analyzer/trace/events_ahead.h"

#include <cstring>

#include "trace/read_files.h"

namespace memtrace::trace {
namespace {

using Threads = EventsAhead::Threads;

// The segments of a trace that has nothing else.
struct Segments {
  explicit Segments(const std::string& path) : file(path, files::Origin::named), index(file) {
    for (const Segment& segment : index.segments()) {
      const format::SegmentHeader& header = segment.header;
      if (static_cast<format::Source>(header.source) != format::Source::ring) continue;
      Stream& stream = streams[header.thread];
      stream.thread = header.thread;
      stream.events.push_back({format::Source::ring, header.first_sequence, header.records, header.first_stamp,
                               header.types, &file, &segment, nullptr, false});
    }
  }
  File file;
  SegmentIndex index;
  Streams streams;
};

bool are_equal(const Event& a, const Event& b) {
  return a.ordinal == b.ordinal && a.stamp == b.stamp && a.type == b.type && a.kind == b.kind &&
         a.flags == b.flags && a.after_gap == b.after_gap && a.thread == b.thread &&
         std::memcmp(a.payload.word, b.payload.word, sizeof a.payload.word) == 0;
}

std::vector<Event> all_of(EventsAhead& ahead) {
  std::vector<Event> out;
  for (auto events = ahead.next(); !events.empty(); events = ahead.next())
    out.insert(out.end(), events.begin(), events.end());
  return out;
}

// Births at addresses that count up, on four threads in turn. Their segments restart and continue models.
tests::Builder numbered(std::uint64_t count) {
  tests::Builder builder;
  for (std::uint64_t i = 0; i < count; ++i) builder.on(static_cast<std::uint32_t>(i * i % 4)).birth(i, 8192);
  return builder;
}

constexpr std::uint64_t kMany = 40'000; // more than all batches hold at once

class EventsAheadTest : public Files {
 protected:
  EventsAheadTest() : builder_(numbered(kMany)), segments_(write(builder_.bytes(512))) {}
  tests::Builder builder_;
  Segments segments_;
};

TEST_F(EventsAheadTest, TwoThreadsGiveEachRecordOnceAndInOrder) {
  for (const Threads threads : {Threads::one, Threads::two}) {
    EventsAhead ahead(Order(segments_.streams), threads);
    const std::vector<Event> events = all_of(ahead);
    EXPECT_EQ(addresses(events), count_up(0, kMany));
    EXPECT_EQ(ahead.records(), kMany);
    EXPECT_EQ(ahead.counts().records, kMany);
    EXPECT_EQ(ahead.ordinal(), kMany);
    EXPECT_TRUE(ahead.next().empty()); // again
  }
}

TEST_F(EventsAheadTest, AReaderThatStopsEarlyStopsTheSecondThread) {
  for (const int batches : {0, 1, 9, 20}) {
    EventsAhead ahead(Order(segments_.streams), Threads::two);
    for (int i = 0; i < batches; ++i) EXPECT_FALSE(ahead.next().empty());
  }
}

TEST_F(EventsAheadTest, AMergeContinuesFromEachCopy) {
  for (const Threads threads : {Threads::one, Threads::two}) {
    const CopyStride stride = 5'000;
    EventsAhead whole(Order(segments_.streams), threads, &stride);
    std::vector<Event> all;
    std::vector<std::unique_ptr<Order>> copies;
    for (auto events = whole.next(); !events.empty(); events = whole.next()) {
      all.insert(all.end(), events.begin(), events.end());
      if (auto copy = whole.copy()) {
        EXPECT_EQ(copy->ordinal(), all.size());
        copies.push_back(std::move(copy));
      }
    }
    EXPECT_EQ(copies.size(), kMany / 5'000 - 1); // each is up to a batch late
    for (const auto& copy : copies) {
      const std::size_t before = copy->ordinal();
      EventsAhead rest(*copy, threads);
      const std::vector<Event> events = all_of(rest);
      ASSERT_EQ(events.size(), all.size() - before);
      EXPECT_TRUE(std::equal(events.begin(), events.end(), all.begin() + static_cast<std::ptrdiff_t>(before),
                             are_equal));
    }
  }
}

TEST(ThreadsFor, AFewRecordsAreNotWorthAThread) {
  EXPECT_EQ(threads_for(1000), Threads::one);
}

} // namespace
} // namespace memtrace::trace
