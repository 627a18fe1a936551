// Purpose: the first pass of a timeline: levels, phases, steps and measured figures of the whole run, in
// bounded memory.
#include "analyzer/timeline/outline.h"

#include <algorithm>
#include <utility>

#include "analyzer/files/read_budget.h"
#include "analyzer/replay/block_rules.h"

namespace memtrace::replay {
namespace {

using format::EventType;

constexpr std::size_t kMostPhases = 1 << 15;

// Between these events, the levels are not those of any instant.
bool is_of_snapshot(EventType type) {
  using enum EventType;
  return type == window || type == EventType::level || type == open_phase || type == held ||
         type == displaced || type == early_death;
}

class Outliner : public Observer {
 public:
  Outliner(const std::vector<Lane>& lanes, std::size_t most_bins, std::vector<trace::Ordinal> instants,
           BlockGroups& groups)
      : out_{LevelBins(lanes.size(), most_bins), PhaseSpans(kMostPhases), {}, {}, {}, {}, {}, 0, {}},
        lanes_(lanes),
        instants_(std::move(instants)),
        groups_(groups) {
    std::sort(instants_.begin(), instants_.end());
  }

  Outline take() && { return std::move(out_); }

  void labelled(const Block& block) override { groups_.labelled(block); }
  void born(const Block&) override { ++blocks_.births; }
  void died(const Block&, const trace::Event&) override { ++blocks_.deaths; }
  // A mark gets the time of its event, which comes with after().
  void began(const Occurrence& occurrence) override { began_.push_back(occurrence); }
  void ended(const Occurrence& occurrence, bool) override {
    for (const Occurrence& begun : std::exchange(began_, {})) out_.phases.began(begun, out_.end);
    ended_.push_back(occurrence);
  }
  void cut(const trace::Event&) override {
    out_.phases.close(out_.end);
    out_.bins.gap();
  }

  void started() override {
    levels_.resize(lanes_.size());
    look();
  }

  void after(const trace::Event& event, const PhasePosition&) override {
    out_.end = std::max(out_.end, event.stamp);
    for (const Occurrence& occurrence : std::exchange(ended_, {})) out_.phases.ended(occurrence, out_.end);
    for (const Occurrence& occurrence : std::exchange(began_, {})) out_.phases.began(occurrence, out_.end);
    for (; next_ < instants_.size() && instants_[next_] <= event.ordinal; ++next_)
      out_.stamps[instants_[next_]] = out_.end;
    measure(event);
    const LevelBins::Blocks blocks = std::exchange(blocks_, {});
    if (is_of_snapshot(event.type)) return;
    const bool changed = look();
    if (changed || first_) out_.bins.add(event.ordinal, out_.end, blocks, levels_);
    if (changed || phases().step() != step_) out_.steps.add(phases().step(), out_.end, levels_);
    step_ = phases().step();
    first_ = false;
  }

  void finished() override {
    for (const Occurrence& occurrence : std::exchange(ended_, {})) out_.phases.ended(occurrence, out_.end);
    out_.phases.close(out_.end);
    out_.paths = phases().paths();
  }

 private:
  // Takes the present levels. Returns true if one changed.
  bool look() {
    bool changed = false;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const std::int64_t level = level_of(lanes_[i], ledger());
      changed = changed || level != levels_[i];
      levels_[i] = level;
    }
    return changed;
  }

  void measure(const trace::Event& event) {
    if (event.type == EventType::sample_process) {
      const auto& sample = event.as<format::SampleProcessEvent>();
      out_.resident.add(event.stamp, sample.anon + sample.file + sample.shmem);
    } else if (event.type == EventType::sample_cgroup && (event.flags & 0xff) == 0) {
      out_.charge.add(event.stamp, event.as<format::SampleCgroupEvent>().charge);
    } else if (event.type == EventType::sample_device) {
      const auto& sample = event.as<format::SampleDeviceEvent>();
      const std::uint64_t used =
          sample.used_by_process != format::kNotSaid ? sample.used_by_process : sample.used;
      if (used != format::kNotSaid) out_.used[memory_of(event)].add(event.stamp, used);
    }
  }

  Outline out_;
  const std::vector<Lane>& lanes_;
  std::vector<trace::Ordinal> instants_; // ascending
  std::size_t next_ = 0;                 // of them
  BlockGroups& groups_;
  std::vector<std::int64_t> levels_; // of the lanes
  std::vector<Occurrence> began_, ended_;
  Step step_ = Step::none;
  LevelBins::Blocks blocks_; // of the present event
  bool first_ = true;        // no event was added
};

} // namespace

Outline outline(const trace::Trace& trace, const std::vector<Lane>& lanes, std::size_t most_bins,
                const std::vector<trace::Ordinal>& instants, BlockGroups& groups) {
  files::Budget::of_command().looks(trace.records());
  Replay replay(trace);
  Outliner outliner(lanes, most_bins, instants, groups);
  replay.run(outliner);
  return std::move(outliner).take();
}

} // namespace memtrace::replay
