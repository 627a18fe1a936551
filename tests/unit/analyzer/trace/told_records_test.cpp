// Purpose: tests that two threads give the records of a survey as one does.
#include "analyzer/trace/told_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "builder.h"

namespace memtrace::trace {
namespace {

using tests::Builder;
using Threads = EventsAhead::Threads;

constexpr std::uint64_t kSteps = std::uint64_t{1} << static_cast<unsigned>(format::EventType::step);
constexpr std::uint64_t kAll = ~std::uint64_t{0};

class ToldRecords : public testing::Test {
 protected:
  // Every seventh record is a step, with its number.
  void write(std::uint64_t records, std::size_t per_segment) {
    Builder builder;
    for (std::uint64_t i = 0; i < records; ++i) {
      if (i % 7 == 0) {
        builder.step(i);
      } else {
        builder.birth(i << 12, 4096);
      }
    }
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes(per_segment));
    file_ = std::make_unique<File>(scratch_.file("t.memtrace"), files::Origin::named);
    index_ = std::make_unique<SegmentIndex>(*file_);
    for (const Segment& segment : index_->segments())
      if (static_cast<format::Source>(segment.header.source) == format::Source::ring)
        runs_.push_back({format::Source::ring, segment.header.first_sequence, segment.header.records,
                         segment.header.first_stamp, segment.header.types, file_.get(), &segment, nullptr,
                         false});
  }

  std::vector<std::uint64_t> stamps(std::uint64_t types, Threads threads) {
    std::vector<std::uint64_t> out;
    read_ = 0;
    const ToldCounts counts =
        read_told(runs_,
                  {types, [&](const format::RingRecord& record) { out.push_back(record.stamp); },
                   [&](std::uint64_t records) { read_ += records; }},
                  threads);
    last_ = counts.last;
    return out;
  }

  tests::Scratch scratch_;
  std::unique_ptr<File> file_;
  std::unique_ptr<SegmentIndex> index_;
  std::vector<trace::Run> runs_;
  std::uint64_t read_ = 0;
  format::Stamp last_ = 0;
};

TEST_F(ToldRecords, OfTwoThreadsAreThoseOfOne) {
  write(100'000, 1000);
  const std::vector<std::uint64_t> one = stamps(kSteps, Threads::one);
  const format::Stamp last = last_;
  EXPECT_EQ(one.size(), (100'000u + 6) / 7);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(stamps(kSteps, Threads::two), one);
    EXPECT_EQ(last_, last);
    EXPECT_EQ(read_, 100'000u) << "progress is of all records";
  }
}

// More than may wait for the calling thread.
TEST_F(ToldRecords, OfAllTypesComeInOrder) {
  write(60'000, 5000);
  const std::vector<std::uint64_t> all = stamps(kAll, Threads::two);
  EXPECT_EQ(all.size(), 60'000u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
}

// A record that is in two segments is given once.
TEST_F(ToldRecords, OfSegmentsThatOverlapComeOnce) {
  write(60'000, 1000);
  std::vector<trace::Run> twice;
  for (const trace::Run& run : runs_) twice.insert(twice.end(), {run, run});
  const std::vector<std::uint64_t> once = stamps(kSteps, Threads::one);
  runs_ = std::move(twice);
  EXPECT_EQ(stamps(kSteps, Threads::one), once);
  EXPECT_EQ(stamps(kSteps, Threads::two), once);
}

TEST_F(ToldRecords, EndWithAnException) {
  write(60'000, 1000);
  int given = 0;
  const ToldQuestion question{kSteps,
                              [&given](const format::RingRecord&) {
                                if (++given == 3000) throw std::runtime_error("enough");
                              },
                              [](std::uint64_t) {}};
  EXPECT_THROW(read_told(runs_, question, Threads::two), std::runtime_error);
}

} // namespace
} // namespace memtrace::trace
