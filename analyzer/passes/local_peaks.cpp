// Purpose: the peaks of a level, with a valley between each two.
#include "analyzer/passes/local_peaks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/files/read_budget.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

// Follows one level up to a top and down to a valley, in turn. A top counts once the level has fallen by
// `depth`, a valley once the level has risen by as much.
class LevelPeaks : public Observer {
 public:
  LevelPeaks(MemoryId memory, Measure measure, std::int64_t depth)
      : memory_(memory), measure_(measure), depth_(depth) {}

  void started() override { top_.bytes = valley_ = height(); }
  void born(const Block& block) override {
    const std::uint64_t bytes = measure_ == Measure::tensor ? block.tensor_bytes()
                                : block.counted             ? block.given
                                                            : 0;
    if (block.memory != memory_ || bytes < std::min(largest_ + 1, static_cast<std::uint64_t>(depth_))) return;
    largest_ = std::max(largest_, bytes);
    stack_ = block.stack;
  }
  void after(const trace::Event& event, const PhasePosition& place) override {
    using enum format::EventType; // a snapshot sets the level before it lists the blocks
    if (event.type == window || event.type == level || event.type == open_phase || event.type == held ||
        event.type == displaced || event.type == early_death)
      return;
    const std::int64_t now = height();
    if (rises_ && wrapping_sub(top_.bytes, now) >= depth_) {
      keep();
      rises_ = false;
      begin_rise(now);
    } else if (!rises_ && now < valley_) {
      begin_rise(now);
    } else if (rises_ ? now > top_.bytes : wrapping_sub(now, valley_) >= depth_) {
      rises_ = true;
      top_ = {now, event.ordinal, place.path, place.step, stack_};
    }
  }
  void finished() override {
    if (rises_) keep();
  }

  std::vector<LocalPeak> take() const {
    std::vector<LocalPeak> out;
    for (const auto& [place, peak] : highest_) out.push_back(peak);
    std::sort(out.begin(), out.end(), [](const LocalPeak& a, const LocalPeak& b) { return a.at < b.at; });
    return out;
  }

 private:
  std::int64_t height() const {
    const Level& now = ledger().level(memory_);
    return measure_ == Measure::tensor ? now.tensor : now.live;
  }
  void begin_rise(std::int64_t from) {
    valley_ = from;
    largest_ = 0;
    stack_ = {};
  }
  void keep() {
    LocalPeak& known = highest_[{top_.path, top_.stack}];
    if (top_.bytes > known.bytes) known = top_;
  }

  MemoryId memory_;
  Measure measure_;
  std::int64_t depth_;
  std::uint64_t largest_ = 0; // bytes of the largest block that was made since the last valley
  format::StackId stack_{};   // of the block that brought the level up, see LocalPeak
  bool rises_ = true;
  LocalPeak top_;           // since the last valley
  std::int64_t valley_ = 0; // since the last top
  std::map<std::pair<PathId, format::StackId>, LocalPeak> highest_;
};

} // namespace

std::vector<LocalPeak> local_peaks(const trace::Trace& trace, MemoryId memory, Measure measure,
                                   std::int64_t depth) {
  files::Budget::of_command().looks(trace.records());
  Replay replay(trace);
  LevelPeaks peaks(memory, measure, depth);
  replay.run(peaks);
  return peaks.take();
}

} // namespace memtrace::replay
