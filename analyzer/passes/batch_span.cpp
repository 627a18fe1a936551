// Purpose: the middle and the end of a worker's batches.
#include "analyzer/passes/batch_span.h"

#include <algorithm>
#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {
namespace {

// Births, evenly thinned: if there are kMost, every second one is dropped.
class BirthMarks {
 public:
  void add(const EventMark& mark) {
    last_ = mark.stamp;
    if (seen_++ % stride_ != 0) return;
    marks_.push_back(mark);
    if (marks_.size() < kMost) return;
    for (std::size_t i = 0; i < kMost / 2; ++i) marks_[i] = marks_[2 * i];
    marks_.resize(kMost / 2);
    stride_ *= 2;
  }
  bool empty() const { return marks_.empty(); }
  format::Stamp last() const { return last_; }
  // Returns the last mark up to `stamp`, else the first one.
  const EventMark& up_to(format::Stamp stamp) const {
    const auto after =
        std::upper_bound(marks_.begin(), marks_.end(), stamp,
                         [](format::Stamp of, const EventMark& mark) { return of < mark.stamp; });
    return after == marks_.begin() ? *after : *(after - 1);
  }

 private:
  static constexpr std::size_t kMost = 4096;
  std::vector<EventMark> marks_;
  std::uint64_t seen_ = 0;
  std::uint64_t stride_ = 1;
  format::Stamp last_ = 0;
};

class DataPhase : public Observer {
 public:
  void began(const Occurrence& one) override {
    if (is_outermost_data(one.path) && open_ == OccurrenceId::none) open_ = one.id;
  }
  void ended(const Occurrence& one, bool) override {
    if (one.id == open_) ended_ = true;
  }
  void born(const Block& block) override {
    if (is_open() && block.counted) births_.add({block.birth_stamp, block.birth});
  }
  void after(const trace::Event& event, const PhasePosition&) override {
    if (is_open() && begin_ == 0) begin_ = event.stamp;
    // A loader ends the workers that it still has at its own end by SIGTERM, and PyTorch makes that an exit.
    const bool exits =
        event.type == format::EventType::end && static_cast<format::EndHow>(event.kind) == format::EndHow::exit;
    if ((ended_ || (is_open() && exits)) && end_.stamp == 0) end_ = {event.stamp, event.ordinal};
  }

  std::optional<BatchSpan> span() const {
    if (end_.stamp == 0 || births_.empty()) return std::nullopt;
    const format::Stamp last = std::max(begin_, births_.last());
    const EventMark& middle = births_.up_to(begin_ + (last - begin_) / 2);
    return BatchSpan{middle, {std::max(end_.stamp, middle.stamp), end_.at}};
  }

 private:
  bool is_open() const { return open_ != OccurrenceId::none && !ended_; }
  bool is_outermost_data(PathId path) const {
    const Paths& paths = phases().paths();
    return paths.parent_of(path) == PathId::other && paths.text(paths.last(path)) == "data";
  }

  BirthMarks births_;
  OccurrenceId open_ = OccurrenceId::none; // also of a phase that ended
  bool ended_ = false;
  format::Stamp begin_ = 0;
  EventMark end_;
};

} // namespace

std::optional<BatchSpan> batch_span(const trace::Trace& trace) {
  Replay replay(trace);
  DataPhase phase;
  replay.run(phase);
  return phase.span();
}

} // namespace memtrace::replay
