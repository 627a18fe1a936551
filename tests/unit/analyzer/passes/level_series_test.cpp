// Purpose: tests that thinned levels keep each peak.
#include "analyzer/passes/level_series.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "builder.h"

namespace memtrace::replay {
namespace {

using tests::Builder;

const LevelSeries* series_of(const std::vector<LevelSeries>& all, SeriesMeasure measure) {
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const LevelSeries& one) { return one.measure == measure; });
  return at == all.end() ? nullptr : &*at;
}

// 1,000 blocks come and go above a block that stays. The 500th is larger for one event.
TEST(LevelSeries, KeepThePeakAndAreBounded) {
  Builder builder;
  builder.birth(1 << 20, 5000);
  std::uint64_t peak = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    builder.birth(2 << 20, i == 500 ? 90'000 : 100 + i);
    if (i == 500) peak = builder.now();
    builder.death(2 << 20, i == 500 ? 90'000 : 100 + i);
  }
  tests::Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"), builder.bytes());
  const trace::Trace trace(scratch.file("t.memtrace"));
  for (const std::size_t intervals : {1u, 4u, 100u}) {
    const std::vector<LevelSeries> all = level_series(trace, intervals);
    const LevelSeries* const live = series_of(all, SeriesMeasure::live);
    ASSERT_NE(live, nullptr);
    EXPECT_LE(live->points.size(), 3 * intervals);
    const auto most =
        std::max_element(live->points.begin(), live->points.end(),
                         [](const LevelPoint& a, const LevelPoint& b) { return a.bytes < b.bytes; });
    EXPECT_EQ(most->bytes, 95'000);
    EXPECT_EQ(most->stamp, peak);
    EXPECT_EQ(live->points.back().bytes, 5000);
    EXPECT_TRUE(std::is_sorted(live->points.begin(), live->points.end(),
                               [](const LevelPoint& a, const LevelPoint& b) { return a.at < b.at; }));
    EXPECT_EQ(series_of(all, SeriesMeasure::tensor), nullptr) << "always 0";
  }
}

} // namespace
} // namespace memtrace::replay
