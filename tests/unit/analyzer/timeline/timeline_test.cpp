// Purpose: the timeline of random runs, against a list of all levels and against the composition of peaks.
#include "analyzer/timeline/timeline.h"

#include <array>
#include <map>
#include <random>

#include "folded.h"
#include "tests/unit/seed.h"

namespace memtrace::replay {
namespace {

using format::Kind;
using tests::Builder;
using tests::Folded;

constexpr Lane kTensors{0, Measure::tensor}, kLive{0, Measure::live};

// A run with tensors, plain blocks, mappings that end in parts, small blocks, phases and steps.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed) {}

  Builder& run(int events) {
    builder_.begin("load");
    for (int i = 0; i < events; ++i) one();
    return builder_;
  }

 private:
  std::uint64_t below(std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_);
  }
  void one() {
    const std::uint64_t address = 1 + below(50);
    switch (below(9)) {
      case 0:
      case 1:
        builder_.tensor(address, 4096 + below(1 << 20), static_cast<std::uint32_t>(1 + below(5)));
        break;
      case 2:
      case 3:
        builder_.birth(address, 4096 + below(1 << 20), Kind::heap, 0, static_cast<std::uint32_t>(1 + below(5)));
        break;
      case 4:
        builder_.death(address);
        break;
      case 5:
        builder_.birth((100 + below(40)) << 12, (1 + below(12)) << 12, Kind::mmap_anon);
        break;
      case 6:
        builder_.unmap((100 + below(40)) << 12, (1 + below(12)) << 12, format::kReleased);
        break;
      case 7:
        builder_.counters(below(100'000), below(90'000), 1, 1);
        break;
      default:
        builder_.end(phase_).begin(phase_ = phase_ == "forward" ? "backward" : "forward");
    }
  }

  Builder builder_;
  std::mt19937_64 random_;
  std::string phase_ = "load";
};

// Every level of a run.
class AllLevels : public Observer {
 public:
  void started() override { after_event[0] = now(); }
  void after(const trace::Event& event, const PhasePosition&) override {
    after_event[event.ordinal] = at_stamp[event.stamp] = now();
  }
  std::map<trace::Ordinal, std::array<std::int64_t, 2>> after_event;
  std::map<format::Stamp, std::array<std::int64_t, 2>> at_stamp;

 private:
  std::array<std::int64_t, 2> now() const { return {ledger().level(0).tensor, ledger().level(0).live}; }
};

struct Case {
  Case(std::uint64_t seed, std::size_t bins, std::uint64_t rows) : run(seed), folded(run.run(3000), 50) {
    request.lanes = {kTensors, kLive};
    const MemoryPeaks& peaks = folded.account.peaks.at(0);
    request.instants = {peaks.tensor.at, peaks.live.at};
    request.interests = {{peaks.tensor.at, peaks.tensor.at, "the peak"}, {1, 1, "the start"}};
    request.last_step = folded.account.last_step;
    request.most_bins = bins;
    request.most_rows = rows;
    timeline = std::make_unique<Timeline>(make_timeline(folded.trace(), request));
    Replay replay(folded.trace());
    replay.run(levels);
  }
  RandomRun run;
  Folded folded;
  TimelineRequest request;
  std::unique_ptr<Timeline> timeline;
  AllLevels levels;
};

std::uint64_t bytes_in(const Lane& lane, const Timeline& timeline, std::uint32_t klass) {
  const BlockClass& of = timeline.rows.classes[klass];
  if (klass == 0 || timeline.rows.groups[of.group].sampled) return 0;
  return lane.measure == Measure::tensor ? of.tensor : of.given;
}

TEST(Timeline, BinsHaveTheHighestLevelsOfAllEvents) {
  const std::uint64_t first = tests::seed(11);
  for (std::uint64_t seed = first; seed < first + 10; ++seed) {
    const Case of(seed, 64, 0);
    const LevelBins& bins = of.timeline->outline.bins;
    ASSERT_LE(bins.bins().size(), 64u);
    ASSERT_GT(bins.bins().size(), 30u);
    for (std::size_t bin = 0; bin < bins.bins().size(); ++bin) {
      const Bin& span = bins.bins()[bin];
      std::array<std::int64_t, 2> most = of.levels.after_event.at(span.first);
      for (auto at = of.levels.after_event.lower_bound(span.first);
           at != of.levels.after_event.upper_bound(span.last); ++at)
        for (std::size_t lane = 0; lane < 2; ++lane) most[lane] = std::max(most[lane], at->second[lane]);
      for (std::size_t lane = 0; lane < 2; ++lane) {
        ASSERT_EQ(bins.of(bin, lane).max, most[lane]) << "bin " << bin << ", seed " << seed;
        ASSERT_EQ(of.levels.after_event.at(bins.of(bin, lane).max_at)[lane], most[lane]);
      }
    }
  }
}

TEST(Timeline, RowsGiveTheLevelsOfTheirInstants) {
  const std::uint64_t first = tests::seed(21);
  for (std::uint64_t seed = first; seed < first + 10; ++seed) {
    for (const std::uint64_t rows : {400u, 1'000'000u}) {
      const Case of(seed, 512, rows);
      ASSERT_FALSE(of.timeline->rows.spans.empty());
      std::array<std::int64_t, 2> most{};
      for (const RowSpan& span : of.timeline->rows.spans) {
        std::vector<std::int64_t> now = of.timeline->rows.sets[span.set].levels;
        for (std::size_t i = span.first_row; i < span.first_row + span.rows; ++i) {
          const BlockRow& row = of.timeline->rows.rows[i];
          for (std::size_t lane = 0; lane < 2; ++lane) {
            const auto bytes =
                static_cast<std::int64_t>(bytes_in(of.request.lanes[lane], *of.timeline, row.klass));
            now[lane] += row.ref == 0 ? bytes : -bytes;
          }
          now[1] += row.small;
          for (std::size_t lane = 0; lane < 2; ++lane) most[lane] = std::max(most[lane], now[lane]);
          const bool last_of_stamp =
              i + 1 == span.first_row + span.rows || of.timeline->rows.rows[i + 1].stamp != row.stamp;
          if (!last_of_stamp) continue;
          const auto& truth = of.levels.at_stamp.at(row.stamp);
          ASSERT_EQ(now[0], truth[0]) << "row " << i << ", seed " << seed;
          ASSERT_EQ(now[1], truth[1]) << "row " << i << ", seed " << seed;
        }
      }
      EXPECT_EQ(most[0], of.folded.account.peaks.at(0).tensor.bytes);
      if (rows > 400) {
        EXPECT_EQ(most[1], of.folded.account.peaks.at(0).live.bytes);
      }
    }
  }
}

TEST(Timeline, PeaksAreFoundByTheirTimesIfTheNextEventsHaveTheSameOne) {
  Builder builder;
  const auto same_time = [&]() -> Builder& { return builder.wait(-std::uint64_t{1000}); };
  builder.birth(1, 1 << 20).tensor(2, 2 << 20); // the peak of tensors
  same_time().counters(5000, 0, 1, 0);          // that of all allocations
  same_time().tensor_death(2).death(1);
  const Folded folded(builder);
  const MemoryPeaks& peaks = folded.account.peaks.at(0);
  ASSERT_GT(peaks.live.at, peaks.tensor.at);
  ASSERT_EQ(peaks.live.stamp, peaks.tensor.stamp);
  TimelineRequest request;
  request.lanes = {kTensors, kLive};
  request.instants = {peaks.tensor.at, peaks.live.at};
  request.interests = {{1, 5, "all"}};
  request.last_step = folded.account.last_step;
  request.most_bins = 16;
  request.most_rows = 100;
  const Timeline timeline = make_timeline(folded.trace(), request);
  for (const Lane& lane : request.lanes) {
    const Peak& peak = lane == kTensors ? peaks.tensor : peaks.live;
    std::int64_t level = 0;
    for (const BlockRow& row : timeline.rows.rows) {
      if (row.stamp > timeline.rows.exact.at(peak.at)) continue;
      const auto bytes = static_cast<std::int64_t>(bytes_in(lane, timeline, row.klass));
      level += (row.ref == 0 ? bytes : -bytes) + (lane == kLive ? row.small : 0);
    }
    EXPECT_EQ(level, peak.bytes);
    EXPECT_LE(timeline.rows.exact.at(peak.at) - peak.stamp, 2u);
  }
}

// On the CUDA node, cuBLAS's 8 MiB were unattributed in the page, and a workspace in the JSON.
TEST(Timeline, AWorkspaceIsTemporaryInEveryBin) {
  constexpr std::uint16_t kTensorOfGpu = format::kTensor | 1 << format::kMemoryShift;
  constexpr std::int64_t kBytes = 8 << 20;
  Builder builder;
  const std::uint32_t own = builder.python_frame("main", "/home/u/train.py", 3, 0);
  const std::uint32_t of_library = builder.native_frame(0x1000, own);
  builder.birth(1 << 24, kBytes, Kind::device, kTensorOfGpu, of_library, kBytes);
  builder.birth(2 << 24, kBytes, Kind::device, kTensorOfGpu, own, kBytes);
  const Folded folded(builder);
  TimelineRequest request;
  request.lanes = {{1, Measure::tensor}};
  request.interests = {{1, 2, "all"}};
  request.last_step = folded.account.last_step;
  request.most_bins = 16;
  request.most_rows = 100;
  request.is_workspace = [&](format::StackId stack) { return stack == format::StackId{of_library}; };
  const Timeline timeline = make_timeline(folded.trace(), request);
  ASSERT_EQ(timeline.rows.groups.size(), 2u);
  for (const PageGroup& group : timeline.rows.groups) {
    const bool workspace = group.stack == format::StackId{of_library};
    EXPECT_EQ(group.role == Role::workspace, workspace);
    EXPECT_EQ(group.band == Band::temporary, workspace);
  }
  const std::size_t bins = timeline.outline.bins.bins().size();
  EXPECT_EQ(timeline.rows.bands[static_cast<std::size_t>(Band::temporary) * bins + bins - 1], kBytes);
}

// mimalloc's reservation of 1 GiB led the page of a pandas program.
TEST(Timeline, WhatWasNeverTouchedIsABandOfItsOwn) {
  constexpr std::uint64_t kTouched = 3 << 20, kReserved = 1 << 30;
  Builder builder;
  builder.birth(1 << 30, kReserved, Kind::mmap_anon);
  builder.birth(1, 4096, Kind::heap);
  const Folded folded(builder);
  TimelineRequest request;
  request.lanes = {kLive};
  request.interests = {{1, 2, "all"}};
  request.last_step = folded.account.last_step;
  request.most_bins = 16;
  request.most_rows = 100;
  request.never_touched = [](const Block& block) {
    return block.given == kReserved ? kReserved - kTouched : 0;
  };
  const Timeline timeline = make_timeline(folded.trace(), request);
  const std::size_t last = timeline.outline.bins.bins().size() - 1;
  const auto band = [&](Band of) {
    return timeline.rows.bands[static_cast<std::size_t>(of) * (last + 1) + last];
  };
  EXPECT_EQ(band(Band::reserved), static_cast<std::int64_t>(kReserved - kTouched));
  EXPECT_EQ(band(Band::runtime), static_cast<std::int64_t>(kTouched + 4096));
  std::map<Band, std::uint64_t> given;
  for (const BlockClass& one : timeline.rows.classes)
    if (one.given != 0) given[timeline.rows.groups[one.group].band] += one.given;
  EXPECT_EQ(given, (std::map<Band, std::uint64_t>{{Band::runtime, kTouched + 4096},
                                                  {Band::reserved, kReserved - kTouched}}));
}

TEST(Timeline, BandsAndSetsAreTheCompositionOfTheirInstants) {
  const std::uint64_t first = tests::seed(31);
  for (std::uint64_t seed = first; seed < first + 5; ++seed) {
    const Case of(seed, 32, 300);
    const LevelBins& bins = of.timeline->outline.bins;
    const std::size_t count = bins.bins().size();
    for (std::size_t lane = 0; lane < 2; ++lane) {
      for (std::size_t bin = 0; bin < count; ++bin) {
        const LaneBin& top = bins.of(bin, lane);
        const Holdings alive = of.folded.alive(of.request.lanes[lane].measure, top.max_at);
        std::array<std::int64_t, kBands> bands{};
        std::int64_t rest = top.max;
        for (const Holding& holding : alive) {
          HoldingGroup group;
          group.role = holding.role;
          group.tensor = holding.tensor;
          bands[static_cast<std::size_t>(band_of(group, false, true))] +=
              static_cast<std::int64_t>(holding.bytes);
          rest -= static_cast<std::int64_t>(holding.bytes);
        }
        bands[static_cast<std::size_t>(Band::unattributed)] += rest;
        for (std::size_t band = 0; band < kBands; ++band)
          ASSERT_EQ(of.timeline->rows.bands[(lane * kBands + band) * count + bin], bands[band])
              << kBandNames[band] << " of bin " << bin << ", lane " << lane << ", seed " << seed;
      }
    }
    for (const LiveSet& set : of.timeline->rows.sets) {
      std::uint64_t tensors = 0;
      for (const auto& [klass, blocks] : set.blocks)
        tensors += blocks * bytes_in(kTensors, *of.timeline, klass);
      ASSERT_EQ(static_cast<std::int64_t>(tensors), of.levels.after_event.at(set.at)[0]);
      ASSERT_EQ(set.levels[1], of.levels.after_event.at(set.at)[1]);
    }
  }
}

TEST(Timeline, ALateBirthRefersToItsRow) {
  const Case of(tests::seed(41), 512, 1'000'000);
  const std::vector<BlockRow>& rows = of.timeline->rows.rows;
  std::size_t deaths = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].ref == 0 || rows[i].ref == kOlder) continue;
    ++deaths;
    ASSERT_LE(rows[i].ref, i);
    ASSERT_EQ(rows[i - rows[i].ref].klass, rows[i].klass);
    ASSERT_EQ(rows[i - rows[i].ref].ref, 0u);
  }
  EXPECT_GT(deaths, 500u);
}

TEST(Timeline, PhasesKeepTheLongestIfThereAreTooMany) {
  PhaseSpans spans(100);
  format::Stamp now = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const Occurrence occurrence{OccurrenceId{i}, PathId{1}, Step::none, false};
    spans.began(occurrence, now);
    spans.ended(occurrence, now += i % 10 == 0 ? 1000 : 10);
  }
  spans.close(now);
  ASSERT_EQ(spans.spans().size(), 100u);
  for (const PhaseSpan& span : spans.spans()) EXPECT_EQ(span.end - span.start, 1000u);
  EXPECT_LE(spans.all_from(), 1000u);
  EXPECT_GT(spans.all_from(), 10u);
}

TEST(Timeline, AMeasuredLineKeepsItsHighestPoint) {
  MeasuredLine line;
  for (std::uint64_t i = 0; i < 100'000; ++i) line.add(i, i == 54'321 ? 9'000 : i % 7);
  ASSERT_LE(line.points().size(), 4096u);
  const auto top =
      std::max_element(line.points().begin(), line.points().end(),
                       [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.bytes < b.bytes; });
  EXPECT_EQ(top->bytes, 9'000u);
  EXPECT_EQ(top->stamp, 54'321u);
}

} // namespace
} // namespace memtrace::replay
