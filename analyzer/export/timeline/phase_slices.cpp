// Purpose: finds when phases and steps began and ended.
#include "analyzer/export/timeline/phase_slices.h"

#include <algorithm>
#include <map>

#include "analyzer/files/read_budget.h"
#include "analyzer/wording/labels.h"

namespace memtrace::report {
namespace {

using replay::Occurrence;
using replay::OccurrenceId;

class SliceEdges : public replay::Observer {
 public:
  SliceEdges(format::Stamp last, const std::function<void(const SliceEdge&)>& take)
      : last_(last), take_(take) {}

  void began(const Occurrence& phase) override { changes_.push_back({phase.id, phase.path, true}); }
  void ended(const Occurrence& phase, bool) override { changes_.push_back({phase.id, phase.path, false}); }

  void cut(const trace::Event& event) override { close_all(event.stamp); }
  void after(const trace::Event& event, const replay::PhasePosition&) override {
    for (const EdgeChange& change : changes_) apply(change, event.thread, event.stamp);
    changes_.clear();
    if (phases().step() != step_) enter(phases().step(), event.stamp);
  }
  void finished() override {
    changes_.clear();
    close_all(last_);
  }

 private:
  struct EdgeChange {
    OccurrenceId id;
    replay::PathId path;
    bool begins;
  };
  using OpenPhases = std::vector<OccurrenceId>; // of one thread, the outermost first

  void apply(const EdgeChange& change, std::uint32_t thread, format::Stamp stamp) {
    if (change.begins) {
      open_[thread].push_back(change.id);
      take_({true, stamp, thread, phase_words(phases().paths().text(phases().paths().last(change.path)))});
      return;
    }
    for (auto& [owner, open] : open_) {
      const auto at = std::find(open.begin(), open.end(), change.id);
      if (at == open.end()) continue;
      for (auto inner = open.end(); inner != at; --inner) take_({false, stamp, owner, ""});
      open.erase(at, open.end());
      return;
    }
  }

  void enter(replay::Step step, format::Stamp stamp) {
    if (step_ != replay::Step::none) take_({false, stamp, std::nullopt, ""});
    step_ = step;
    if (step != replay::Step::none)
      take_({true, stamp, std::nullopt, "step " + std::to_string(static_cast<std::int64_t>(step))});
  }

  void close_all(format::Stamp stamp) {
    for (auto& [thread, open] : open_)
      for (; !open.empty(); open.pop_back()) take_({false, stamp, thread, ""});
    enter(replay::Step::none, stamp);
  }

  format::Stamp last_;
  const std::function<void(const SliceEdge&)>& take_;
  std::vector<EdgeChange> changes_; // of the present event
  std::map<std::uint32_t, OpenPhases> open_;
  replay::Step step_ = replay::Step::none;
};

} // namespace

void each_slice_edge(const trace::Trace& trace, const std::function<void(const SliceEdge&)>& take) {
  files::Budget::of_command().looks(trace.records());
  replay::Replay replay(trace);
  SliceEdges edges(trace.facts().last_stamp, take);
  replay.run(edges);
}

} // namespace memtrace::report
