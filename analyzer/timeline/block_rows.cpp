// Purpose: the second pass of a timeline: births and deaths inside the windows, what was alive at chosen
// instants, and the bands of each bin.
#include "analyzer/timeline/block_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/attribute/sample_error.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/timeline/band_sums.h"
#include "analyzer/timeline/class_table.h"
#include "analyzer/timeline/row_order.h"

namespace memtrace::replay {
namespace {

constexpr std::size_t kMostPhasesInWindows = 1 << 17;

std::set<MemoryId> memories_with_tensors(const std::vector<Lane>& lanes) {
  std::set<MemoryId> out;
  for (const Lane& lane : lanes)
    if (lane.measure == Measure::tensor) out.insert(lane.memory);
  return out;
}

class RowCollector : public Observer {
 public:
  RowCollector(const trace::Trace& trace, const RowsWanted& wanted, const LevelBins& bins, BlockGroups& groups)
      : wanted_(wanted),
        bins_(bins),
        groups_(groups),
        classes_(memories_with_tensors(wanted.lanes)),
        bands_(bins, wanted.lanes),
        phases_in_windows_(kMostPhasesInWindows),
        order_(wanted.windows, wanted.exact),
        sample_bytes_(trace.facts().sample_bytes) {
    std::set<trace::Ordinal> instants(wanted.instants.begin(), wanted.instants.end());
    for (const RowWindow& window : wanted.windows) instants.insert(window.from - 1);
    for (const trace::Ordinal at : instants) sets_.push_back({at, {}, {}});
    counts_.resize(sets_.size());
  }

  void started() override { reach(0); }
  void born(const Block& block) override {
    if (block.memory == 0 && block.counted) tracked_ = wrapping_add(tracked_, block.given);
    ++blocks_;
  }
  void died(const Block& block, const trace::Event& event) override {
    if (block.memory == 0 && block.counted) tracked_ = wrapping_sub(tracked_, block.given);
    ++blocks_;
    add(block, event.ordinal, event.stamp, groups_.of_dead(block, phases()));
  }
  void cut(const trace::Event& event) override {
    survived(event.ordinal, event.stamp);
    tracked_ = 0;
  }
  void began(const Occurrence& occurrence) override { began_.push_back(occurrence); }
  void ended(const Occurrence& occurrence, bool) override {
    for (const Occurrence& begun : std::exchange(began_, {})) phases_in_windows_.began(begun, now_);
    ended_.push_back(occurrence);
  }

  void after(const trace::Event& event, const PhasePosition&) override {
    now_ = std::max(now_, event.stamp);
    const bool inside = order_.is_inside(event.ordinal);
    for (const Occurrence& occurrence : std::exchange(ended_, {})) phases_in_windows_.ended(occurrence, now_);
    for (const Occurrence& occurrence : std::exchange(began_, {}))
      if (inside) phases_in_windows_.began(occurrence, now_);
    if (inside) order_.small({event.ordinal, now_}, small());
    reach(event.ordinal);
  }

  void finished() override {
    survived(~trace::Ordinal{0}, now_);
    reach(~trace::Ordinal{0});
    phases_in_windows_.close(now_);
  }

  BlockRows take() && {
    BlockRows out;
    order_.take(out);
    for (RowSpan& span : out.spans) span.set = set_at(span.window.from - 1);
    out.sets = std::move(sets_);
    for (std::size_t i = 0; i < out.sets.size(); ++i)
      for (const auto& [klass, count] : std::map(counts_[i].begin(), counts_[i].end()))
        out.sets[i].blocks.emplace_back(klass, count);
    out.groups = classes_.take_groups();
    out.classes = classes_.take_classes();
    out.bands = bands_.take(bins_);
    out.phases = phases_in_windows_.spans();
    out.blocks = blocks_;
    return out;
  }

 private:
  std::size_t set_at(trace::Ordinal at) const {
    const auto found =
        std::lower_bound(sets_.begin(), sets_.end(), at,
                         [](const LiveSet& set, trace::Ordinal wanted) { return set.at < wanted; });
    return static_cast<std::size_t>(found - sets_.begin());
  }

  // Notes the levels at the instants up to this event.
  void reach(trace::Ordinal event) {
    for (; reached_ < sets_.size() && sets_[reached_].at <= event; ++reached_) {
      for (const Lane& lane : wanted_.lanes) sets_[reached_].levels.push_back(level_of(lane, ledger()));
      order_.before_window(sets_[reached_].at, small());
    }
  }

  // Returns the bytes of the host's `live` that belong to no block with a record.
  std::int64_t small() const { return wrapping_sub(ledger().level(0).live, tracked_); }

  void survived(trace::Ordinal until, format::Stamp stamp) {
    ledger().each_alive(
        [&](const Block& block) { add(block, until, stamp, groups_.of_survivor(block, phases())); });
  }

  void add(const Block& block, trace::Ordinal death, format::Stamp stamp, HoldingGroup group) {
    groups_.settle(group);
    if (is_workspace(block, group)) group.role = Role::workspace;
    const std::uint64_t reserved = wanted_.never_touched ? wanted_.never_touched(block) : 0;
    bands_.add(block, classes_.band(group, block.memory), reserved, block.birth, death);
    const std::size_t first = set_at(block.birth), end = set_at(death);
    const bool rows = order_.touches(block.birth, death);
    if (first == end && !rows) return;
    const std::uint64_t spare = block.spare(); // has a group of its own, as in the report
    put(block, {first, end}, death, stamp, group, block.counted ? block.given - spare - reserved : 0,
        block.tensor_bytes());
    if (reserved != 0) put(block, {first, end}, death, stamp, group, reserved, 0, true);
    if (spare == 0 || !block.counted) return;
    group.role = Role::rounding;
    group.name = {};
    put(block, {first, end}, death, stamp, group, spare, 0);
  }

  // The replay does not know the names of functions, so it inferred another role from the phase.
  bool is_workspace(const Block& block, const HoldingGroup& group) {
    if (block.memory == 0 || !group.tensor || block.tensor_bytes() < kLeastWorkspace || !wanted_.is_workspace)
      return false;
    const auto [at, is_new] = workspaces_.try_emplace(group.stack);
    if (is_new) at->second = wanted_.is_workspace(group.stack);
    return at->second;
  }

  struct Sets {
    std::size_t first, end;
  };
  void put(const Block& block, const Sets& sets, trace::Ordinal death, format::Stamp stamp,
           const HoldingGroup& group, std::uint64_t given, std::uint64_t tensor, bool reserved = false) {
    if (block.sampled) { // represents more blocks
      const auto size = static_cast<double>(block.given);
      given = rounded(size / chance(size, sample_bytes_));
    }
    const std::uint32_t klass = classes_.number(group, block.memory, given, tensor, reserved);
    files::Budget::of_command().looks(sets.end - sets.first);
    for (std::size_t i = sets.first; i < sets.end; ++i) ++counts_[i][klass];
    order_.add(klass, {block.birth, block.birth_stamp}, {death, stamp});
  }

  const RowsWanted& wanted_;
  const LevelBins& bins_;
  BlockGroups& groups_;
  ClassTable classes_;
  BandSums bands_;
  PhaseSpans phases_in_windows_;
  RowOrder order_;
  std::uint32_t sample_bytes_;
  std::vector<LiveSet> sets_;                                            // by instant, ascending
  std::vector<std::unordered_map<std::uint32_t, std::uint32_t>> counts_; // of each set: blocks by class
  std::size_t reached_ = 0;                                              // sets whose levels are known
  std::unordered_map<format::StackId, bool> workspaces_;
  std::vector<Occurrence> began_, ended_;
  std::int64_t tracked_ = 0; // bytes of the host's blocks that have a record
  std::uint64_t blocks_ = 0;
  format::Stamp now_ = 0;
};

} // namespace

BlockRows block_rows(const trace::Trace& trace, const RowsWanted& wanted, const LevelBins& bins,
                     BlockGroups& groups) {
  files::Budget::of_command().looks(trace.records());
  Replay replay(trace);
  RowCollector collector(trace, wanted, bins, groups);
  replay.run(collector);
  return std::move(collector).take();
}

} // namespace memtrace::replay
