// Purpose: the levels of each memory over time, thinned so that every peak stays.
#include "analyzer/passes/level_series.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/files/read_budget.h"
#include "analyzer/replay/block_rules.h"
#include "analyzer/trace/snapshot_events.h"

namespace memtrace::replay {
namespace {

// Retains three levels of each interval.
class ThinnedLevels {
 public:
  ThinnedLevels(format::Stamp start, format::Stamp width) : start_(start), width_(width) {}

  void add(const trace::Event& event, std::int64_t bytes) {
    if (known_ && bytes == last_.bytes) return;
    hold_until(event.stamp);
    const LevelPoint point{event.stamp, bytes, event.ordinal};
    const std::uint64_t interval = event.stamp > start_ ? (event.stamp - start_) / width_ : 0;
    if (!known_ || interval != interval_) {
      close();
      interval_ = interval;
      highest_ = lowest_ = point;
    }
    known_ = true;
    if (bytes > highest_.bytes) highest_ = point;
    if (bytes < lowest_.bytes) lowest_ = point;
    last_ = point;
    if (bytes != 0) empty_ = false;
  }

  // Returns a series without points if every level was 0.
  LevelSeries take(MemoryId memory, SeriesMeasure measure, format::Stamp end) {
    close();
    hold_until(end);
    if (empty_) points_.clear();
    return {memory, measure, std::move(points_), static_cast<double>(ns_) / kNsInSecond,
            byte_ns_ / kNsInSecond};
  }

 private:
  static constexpr double kNsInSecond = 1e9;

  // Adds the time from the last change of the level to `stamp`.
  void hold_until(format::Stamp stamp) {
    if (!known_ || stamp <= last_.stamp) return;
    ns_ += stamp - last_.stamp;
    byte_ns_ += static_cast<double>(last_.bytes) * static_cast<double>(stamp - last_.stamp);
  }

  void close() {
    if (!known_) return;
    LevelPoint three[] = {highest_, lowest_, last_};
    std::sort(std::begin(three), std::end(three),
              [](const LevelPoint& a, const LevelPoint& b) { return a.at < b.at; });
    for (const LevelPoint& point : three)
      if (points_.empty() || points_.back().at != point.at) points_.push_back(point);
  }

  format::Stamp start_;
  format::Stamp width_; // ns of an interval, at least 1
  std::uint64_t interval_ = 0;
  bool known_ = false;
  bool empty_ = true; // every level was 0
  std::uint64_t ns_ = 0;
  double byte_ns_ = 0;
  LevelPoint highest_, lowest_, last_;
  std::vector<LevelPoint> points_;
};

class SeriesOfLevels : public Observer {
 public:
  SeriesOfLevels(const trace::Facts& facts, std::size_t intervals)
      : start_(facts.start_stamp),
        end_(facts.last_stamp),
        width_(facts.last_stamp > facts.start_stamp ? (facts.last_stamp - facts.start_stamp) / intervals + 1
                                                    : 1) {
    touched_.push_back(0);
  }

  void born(const Block& block) override { touch(block.memory); }
  void labelled(const Block& block) override { touch(block.memory); }
  void died(const Block& block, const trace::Event&) override { touch(block.memory); }

  void after(const trace::Event& event, const PhasePosition&) override {
    using enum format::EventType;
    if (trace::is_of_snapshot(event.type)) return; // it sets the level before it lists the blocks
    switch (event.type) {
      case sample_process: {
        const auto& said = event.as<format::SampleProcessEvent>();
        add(0, SeriesMeasure::rss, event, said.anon + said.file + said.shmem);
        break;
      }
      case reserved:
        add(memory_of(event), SeriesMeasure::reserved, event, event.as<format::ReservedEvent>().reserved);
        break;
      case sample_device: {
        const auto& said = event.as<format::SampleDeviceEvent>();
        const std::uint64_t used = said.used_by_process != format::kNotSaid ? said.used_by_process : said.used;
        if (used != format::kNotSaid) add(memory_of(event), SeriesMeasure::used, event, used);
        break;
      }
      default:
        break;
    }
    touch(0); // small blocks have no births
    for (const MemoryId memory : std::exchange(touched_, {})) levels_of(memory, event);
  }

  std::vector<LevelSeries> take() {
    std::vector<LevelSeries> out;
    for (auto& [which, levels] : levels_)
      if (LevelSeries series = levels.take(which.first, which.second, end_); !series.points.empty())
        out.push_back(std::move(series));
    return out;
  }

 private:
  void touch(MemoryId memory) {
    if (std::find(touched_.begin(), touched_.end(), memory) == touched_.end()) touched_.push_back(memory);
  }
  void levels_of(MemoryId memory, const trace::Event& event) {
    const Level& now = ledger().level(memory);
    add(memory, SeriesMeasure::live, event, static_cast<std::uint64_t>(now.live));
    add(memory, SeriesMeasure::tensor, event, static_cast<std::uint64_t>(now.tensor));
  }
  void add(MemoryId memory, SeriesMeasure measure, const trace::Event& event, std::uint64_t bytes) {
    levels_.try_emplace({memory, measure}, start_, width_)
        .first->second.add(event, static_cast<std::int64_t>(bytes));
  }

  format::Stamp start_;
  format::Stamp end_;
  format::Stamp width_;
  std::vector<MemoryId> touched_; // memories whose level may have changed since the last event
  std::map<std::pair<MemoryId, SeriesMeasure>, ThinnedLevels> levels_;
};

} // namespace

std::vector<LevelSeries> level_series(const trace::Trace& trace, std::size_t intervals) {
  files::Budget::of_command().looks(trace.records());
  Replay replay(trace);
  SeriesOfLevels series(trace.facts(), intervals);
  replay.run(series);
  return series.take();
}

} // namespace memtrace::replay
