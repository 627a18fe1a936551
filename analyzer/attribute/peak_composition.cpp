// Purpose: the second pass: exactly which blocks were alive at given instants, and the role of each block.
#include "analyzer/attribute/peak_composition.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "analyzer/attribute/block_groups.h"
#include "analyzer/attribute/block_residency.h"
#include "analyzer/attribute/keyframes.h"
#include "analyzer/attribute/sample_error.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/replay/percentile.h"

namespace memtrace::replay {
namespace {

// The lifetimes of a group. Whenever there are kMost, every second one is dropped, evenly over time. So the
// median stays accurate and memory bounded.
class Lifetimes {
 public:
  void add(std::uint64_t ns) {
    if (seen_++ % stride_ != 0) return;
    kept_.push_back(ns);
    if (kept_.size() < kMost) return;
    for (std::size_t i = 0; i < kMost / 2; ++i) kept_[i] = kept_[2 * i];
    kept_.resize(kMost / 2);
    stride_ *= 2;
  }
  void add(const Lifetimes& others) {
    for (const std::uint64_t ns : others.kept_)
      for (std::uint64_t i = 0; i < others.stride_; ++i) add(ns);
  }
  std::uint64_t median() const { return replay::median(kept_); }

 private:
  static constexpr std::size_t kMost = 8192;
  std::vector<std::uint64_t> kept_;
  std::uint64_t seen_ = 0;
  std::uint64_t stride_ = 1;
};

// Totals of small blocks, estimated from the sampled ones. A block is sampled with a probability p that follows
// from its size, so it represents 1/p blocks (Horvitz-Thompson). The estimates of the sum and of its variance
// are unbiased.
struct Estimate {
  double bytes = 0;
  double asked = 0;
  double blocks = 0;
  double variance = 0; // of `bytes`

  void add(std::uint64_t given, std::uint64_t asked_for, std::uint32_t sample_bytes) {
    const double size = static_cast<double>(given);
    const double drawn = chance(size, sample_bytes);
    const double weight = size / drawn;
    bytes += weight;
    asked += static_cast<double>(asked_for) / drawn;
    blocks += 1 / drawn;
    variance += weight * weight * (1 - drawn);
  }
  void add(const Estimate& other) {
    bytes += other.bytes;
    asked += other.asked;
    blocks += other.blocks;
    variance += other.variance;
  }
};

struct Sum {
  std::uint64_t bytes = 0;
  std::uint64_t asked = 0;
  std::uint64_t blocks = 0;
  std::uint64_t largest = 0;
  std::uint64_t resident = 0;
  std::uint64_t untouched = 0;
  std::uint64_t late = 0;
  std::uint64_t latest = 0; // late bytes of the block that has most
  PathId late_path{};
  Step late_step = Step::none;
  format::Stamp born = ~format::Stamp{0}; // of the block that was made first
  Lifetimes lifetimes;
  Estimate estimate; // of sampled blocks, instead of bytes, asked and blocks
  std::set<format::TextId> modules;

  void add(const Sum& other) {
    bytes += other.bytes;
    asked += other.asked;
    blocks += other.blocks;
    largest = std::max(largest, other.largest);
    resident += other.resident;
    untouched += other.untouched;
    add_late(other.late, other.latest, other.late_path, other.late_step);
    born = std::min(born, other.born);
    lifetimes.add(other.lifetimes);
    estimate.add(other.estimate);
    modules.insert(other.modules.begin(), other.modules.end());
  }

  // Adds `all` late bytes. `one`: those of the one block with the most, which came at `path` and `step`. Ties
  // go to the lower path and step, so the order of calls has no effect.
  void add_late(std::uint64_t all, std::uint64_t one, PathId path, Step step) {
    late += all;
    if (one < latest || (one == latest && std::tie(path, step) >= std::tie(late_path, late_step))) return;
    latest = one;
    late_path = path;
    late_step = step;
  }
};

Holding holding(const HoldingGroup& group, Sum& sum, const Paths& paths) {
  const Estimate& estimate = sum.estimate;
  Holding out{sum.bytes,
              sum.asked,
              sum.blocks,
              sum.largest,
              group.kind,
              group.role,
              group.tensor,
              group.stack,
              group.phase,
              group.known,
              group.step,
              sum.lifetimes.median(),
              group.sampled,
              sum.resident,
              sum.untouched,
              sum.late,
              paths.last(sum.late_path),
              sum.late_step,
              0,
              group.name,
              sum.born,
              group.module,
              {sum.modules.begin(), sum.modules.end()},
              group.made_as};
  if (!group.sampled) return out;
  out.bytes = rounded(estimate.bytes);
  out.asked = rounded(estimate.asked);
  out.blocks = rounded(estimate.blocks);
  out.resident = out.bytes;
  out.error = rounded(1.96 * std::sqrt(estimate.variance));
  return out;
}

using Set = std::unordered_map<HoldingGroup, Sum, GroupHash>;

// Replaces inferred roles by the label of other blocks of their site, if there is one.
void settle(Set& set, const BlockGroups& groups) {
  std::vector<HoldingGroup> guessed;
  for (const auto& [group, sum] : set)
    if (group.guessed) guessed.push_back(group);
  for (const HoldingGroup& group : guessed) {
    Set::node_type node = set.extract(group);
    groups.settle(node.key());
    if (auto placed = set.insert(std::move(node)); !placed.inserted)
      placed.position->second.add(placed.node.mapped());
  }
}

Holdings holdings(Set& set, const BlockGroups& groups, const Paths& paths) {
  settle(set, groups);
  Holdings out;
  out.reserve(set.size());
  for (auto& [group, sum] : set) out.push_back(holding(group, sum, paths));
  std::sort(out.begin(), out.end(), [](const Holding& a, const Holding& b) {
    const auto rest = [](const Holding& h) {
      return std::tuple(h.stack, h.kind, h.role, h.name, h.tensor, h.sampled, h.born_phase, h.born_known,
                        h.born_step, h.module);
    };
    return a.bytes != b.bytes ? a.bytes > b.bytes : rest(a) < rest(b);
  });
  return out;
}

// The instants of one measure of one memory, and the blocks that were alive at each.
struct InstantSets {
  std::vector<trace::Ordinal> at; // ascending
  std::vector<Set> sets;
  std::uint32_t sample_bytes = 0;

  // Adds a block to every instant in [birth, death). `touches`: null if the block has no scan.
  void add(const HoldingGroup& group, const Block& block, std::uint64_t bytes, std::uint64_t asked,
           trace::Ordinal death, std::uint64_t lifetime, const Touches* touches) {
    auto instant = std::lower_bound(at.begin(), at.end(), block.birth);
    const auto end = std::lower_bound(instant, at.end(), death);
    files::Budget::of_command().looks(static_cast<std::uint64_t>(end - instant));
    for (; instant != end; ++instant) {
      Sum& sum = sets[static_cast<std::size_t>(instant - at.begin())][group];
      if (group.sampled) sum.estimate.add(block.given, block.asked, sample_bytes);
      sum.bytes += bytes;
      sum.asked += asked;
      ++sum.blocks;
      sum.largest = std::max(sum.largest, bytes);
      const std::uint64_t resident = touches == nullptr ? bytes : std::min(bytes, touches->resident(*instant));
      sum.resident += resident;
      if (is_reservation(block, resident)) sum.untouched += bytes - resident;
      if (const std::uint64_t late = touches == nullptr ? 0 : std::min(resident, touches->late()); late != 0)
        sum.add_late(late, late, touches->path(), touches->step());
      sum.born = std::min(sum.born, block.birth_stamp);
      sum.lifetimes.add(lifetime);
      if (block.module != format::TextId{}) sum.modules.insert(block.module);
    }
  }
};

class PeakSets : public Observer {
 public:
  // `touched`: the scans before the pass begins.
  PeakSets(const trace::Trace& trace, const std::vector<Instant>& instants, BlockGroups& groups,
           Touched touched)
      : groups_(groups), touched_(std::move(touched)), last_stamp_(trace.facts().last_stamp) {
    const std::set<Instant> sorted(instants.begin(), instants.end());
    for (const Instant& instant : sorted)
      timelines_[{instant.memory, instant.measure}].at.push_back(instant.at);
    for (const Instant& instant : sorted) all_.push_back(instant.at);
    std::sort(all_.begin(), all_.end());
    for (auto& [which, timeline] : timelines_) {
      timeline.sets.resize(timeline.at.size());
      timeline.sample_bytes = trace.facts().sample_bytes;
    }
  }

  void labelled(const Block& block) override { groups_.labelled(block); }

  void died(const Block& block, const trace::Event& event) override {
    reservations_.add(block, event.ordinal, touched_);
    if (seen(block.birth, event.ordinal))
      add(block, event.ordinal, event.stamp, groups_.of_dead(block, phases()), touches_of(block));
    touched_.forget(block.address, block.birth_stamp);
  }

  void after(const trace::Event& event, const PhasePosition&) override {
    switch (event.type) {
      case format::EventType::sample_touched:
        return touched_.look(event);
      case format::EventType::phase_begin:
      case format::EventType::phase_end:
      case format::EventType::step:
        return touched_.moved(event.stamp, phases().place(0).path, phases().place(0).step);
      default:
        return;
    }
  }

  // The trace does not tell what happened to a block in a gap between windows. Up to the gap, the block is
  // treated as if the trace ended there. If it is alive after the gap, it is counted anew.
  void cut(const trace::Event& event) override { survived(event.ordinal, event.stamp); }
  void finished() override { survived(~trace::Ordinal{0}, last_stamp_); }

  // Adds a block that ended after the pass.
  void add_ended(const BlockEnd& end, const Paths& paths) {
    if (seen(end.block.birth, end.at))
      add(end.block, end.at, end.stamp, groups_.of_ended(end.block, end.fate, paths), end.touches.get());
  }

  // Adds the result to `out`. `paths`: of the whole trace.
  void take(std::map<Instant, Holdings>& out, const Paths& paths) {
    for (auto& [which, timeline] : timelines_) {
      for (std::size_t i = 0; i < timeline.at.size(); ++i) {
        out[{which.first, which.second, timeline.at[i]}] = holdings(timeline.sets[i], groups_, paths);
      }
    }
  }

  Reservations take_reservations() { return std::move(reservations_); }

 private:
  void survived(trace::Ordinal until, format::Stamp stamp) {
    ledger().each_alive([&](const Block& block) {
      reservations_.add(block, until, touched_);
      add(block, until, stamp, groups_.of_survivor(block, phases()), touches_of(block));
    });
  }

  const Touches* touches_of(const Block& block) const { return touched_.of(block.address, block.birth_stamp); }

  void add(const Block& block, trace::Ordinal death, format::Stamp stamp, HoldingGroup group,
           const Touches* touches) {
    const std::uint64_t lifetime = stamp > block.birth_stamp ? stamp - block.birth_stamp : 0;
    if (block.tensor)
      at(block.memory, Measure::tensor, group, block, {block.tensor_bytes(), block.asked}, death, lifetime,
         touches);
    if (!block.counted && !block.sampled) return;
    const std::uint64_t spare = block.spare(); // has a row of its own
    at(block.memory, Measure::live, group, block, {block.given - spare, block.asked}, death, lifetime, touches);
    if (spare == 0) return;
    group.role = Role::rounding;
    group.name = {};
    group.made_as = "";
    at(block.memory, Measure::live, group, block, {spare, 0}, death, lifetime, touches);
  }

  // True if any instant is in [birth, death). Most blocks are born and die between two instants.
  bool seen(trace::Ordinal birth, trace::Ordinal death) const {
    const auto instant = std::lower_bound(all_.begin(), all_.end(), birth);
    return instant != all_.end() && *instant < death;
  }

  struct Amount {
    std::uint64_t bytes, asked;
  };
  void at(MemoryId memory, Measure measure, const HoldingGroup& group, const Block& block, const Amount& amount,
          trace::Ordinal death, std::uint64_t lifetime, const Touches* touches) {
    const auto timeline = timelines_.find({memory, measure});
    if (timeline == timelines_.end()) return;
    timeline->second.add(group, block, amount.bytes, amount.asked, death, lifetime, touches);
  }

  BlockGroups& groups_;
  Touched touched_;
  Reservations reservations_;
  format::Stamp last_stamp_;
  std::vector<trace::Ordinal> all_; // instants, ascending
  std::map<std::pair<MemoryId, Measure>, InstantSets> timelines_;
};

} // namespace

std::uint64_t untouched(const Holdings& alive) {
  std::uint64_t out = 0;
  for (const Holding& holding : alive) out += holding.untouched;
  return out;
}

std::map<Instant, Holdings> alive_at(const trace::Trace& trace, const std::vector<Instant>& instants,
                                     Step last_step, Reservations* reserved) {
  std::map<Instant, Holdings> out;
  Replay replay(trace);
  BlockGroups groups(trace, last_step);
  PeakSets sets(trace, instants, groups, {});
  replay.run(sets);
  if (reserved != nullptr) *reserved = sets.take_reservations();
  sets.take(out, replay.phases().paths());
  return out;
}

std::map<Instant, Holdings> alive_at(const trace::Trace& trace, const Keyframes& keyframes,
                                     const std::vector<Instant>& instants, Step last_step) {
  if (keyframes.frames().empty()) return alive_at(trace, instants, last_step);
  const auto& frames = keyframes.frames();
  std::map<std::size_t, std::vector<Instant>> after; // by the number of frames before the instant
  for (const Instant& instant : instants) after[keyframes.frames_before(instant.at)].push_back(instant);
  std::map<Instant, Holdings> out;
  BlockGroups groups(trace, last_step);
  groups.set_labels(keyframes.roles());
  for (const auto& [number, some] : after) {
    const Keyframes::KeptFrame* const from = number == 0 ? nullptr : frames[number - 1].get();
    const trace::Ordinal until = number == frames.size() ? ~trace::Ordinal{0} : frames[number]->state.at();
    PeakSets sets(trace, some, groups, from == nullptr ? Touched{} : from->touched);
    Replay replay = from == nullptr ? Replay(trace) : Replay(trace, from->state);
    replay.run_to(until, sets);
    for (const BlockEnd& end : keyframes.ends())
      if (end.at > until) sets.add_ended(end, keyframes.paths());
    sets.take(out, keyframes.paths());
  }
  return out;
}

} // namespace memtrace::replay
