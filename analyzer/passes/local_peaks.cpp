// Purpose: the peaks of a level, with a valley between each two.
#include "analyzer/passes/local_peaks.h"

#include <algorithm>

#include "analyzer/files/read_budget.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

class LevelPeaks : public Observer {
 public:
  LevelPeaks(MemoryId memory, Measure measure, std::int64_t depth)
      : memory_(memory), measure_(measure), depth_(depth), peaks_(depth, 0) {}

  void started() override { peaks_ = PeakTracker(depth_, height()); }
  void born(const Block& block) override {
    if (block.memory == memory_) peaks_.born(bytes_in(measure_, block), block.stack);
  }
  void after(const trace::Event& event, const PhasePosition& place) override {
    if (!lists_state(event.type)) peaks_.reached(height(), event.ordinal, place.path, place.step);
  }

  std::vector<LocalPeak> take() { return peaks_.take(); }

 private:
  std::int64_t height() const { return bytes_in(measure_, ledger().level(memory_)); }

  MemoryId memory_;
  Measure measure_;
  std::int64_t depth_;
  PeakTracker peaks_;
};

} // namespace

void PeakTracker::born(std::uint64_t bytes, format::StackId stack) {
  if (bytes < std::min(largest_ + 1, static_cast<std::uint64_t>(depth_))) return;
  largest_ = std::max(largest_, bytes);
  stack_ = stack;
}

void PeakTracker::reached(std::int64_t level, trace::Ordinal at, PathId path, Step step) {
  if (rises_ && wrapping_sub(top_.bytes, level) >= depth_) {
    keep();
    rises_ = false;
    begin_rise(level);
  } else if (!rises_ && level < valley_) {
    begin_rise(level);
  } else if (rises_ ? level > top_.bytes : wrapping_sub(level, valley_) >= depth_) {
    rises_ = true;
    top_ = {level, at, path, step, stack_};
  }
}

std::vector<LocalPeak> PeakTracker::take() {
  if (rises_) keep();
  std::vector<LocalPeak> out;
  for (const auto& [place, peak] : highest_) out.push_back(peak);
  std::sort(out.begin(), out.end(), [](const LocalPeak& a, const LocalPeak& b) { return a.at < b.at; });
  return out;
}

void PeakTracker::begin_rise(std::int64_t from) {
  valley_ = from;
  largest_ = 0;
  stack_ = {};
}

void PeakTracker::keep() {
  LocalPeak& known = highest_[{top_.path, top_.stack}];
  if (top_.bytes > known.bytes) known = top_;
}

bool lists_state(format::EventType type) {
  using enum format::EventType;
  return type == window || type == level || type == open_phase || type == held || type == displaced ||
         type == early_death;
}

std::vector<LocalPeak> local_peaks(const trace::Trace& trace, MemoryId memory, Measure measure,
                                   std::int64_t depth) {
  files::Budget::of_command().looks(trace.records());
  Replay replay(trace);
  LevelPeaks peaks(memory, measure, depth);
  replay.run(peaks);
  return peaks.take();
}

} // namespace memtrace::replay
