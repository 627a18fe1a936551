// Purpose: the height of a peak if some blocks were missing or smaller.
#include "analyzer/passes/peak_without.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analyzer/files/read_budget.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

class Excluding : public Observer {
 public:
  explicit Excluding(const std::vector<Excluded>& each) {
    for (const Excluded& what : each) {
      counts_.push_back({.what = &what});
      looks_for_update_ |= what.before_update;
    }
  }

  void born(const Block& block) override {
    if (looks_for_update_ && block.tensor_bytes() != 0 && is_after_update()) after_update_.insert(block.birth);
    for (Count& count : counts_) {
      const ExcludedPart part = part_of(*count.what, block);
      if (part.bytes == 0) {
        count.events.born(block, *count.what);
        continue;
      }
      ExcludedLevel& level = count.*part.level;
      level.all = wrapping_add(level.all, part.bytes);
      count.without.most = std::max(count.without.most, wrapping_add(count.blocks.all, count.left.all));
      count.without.steps.insert(block.born.step);
    }
  }
  void died(const Block& block, const trace::Event&) override {
    for (Count& count : counts_) {
      const ExcludedPart part = part_of(*count.what, block);
      if (part.bytes == 0) {
        count.events.died(block, *count.what);
        continue;
      }
      ExcludedLevel& level = count.*part.level;
      level.all = wrapping_sub(level.all, part.bytes);
      if (count.what->rounds ? block.birth < count.round : block.born.step < count.step)
        level.earlier = wrapping_sub(level.earlier, part.bytes);
      count.without.last_held = phases().step();
    }
    after_update_.erase(block.birth);
  }
  void cut(const trace::Event&) override {
    for (Count& count : counts_) count.blocks = count.left = {}, count.events = {};
    after_update_.clear();
  }
  void started() override {
    for (Count& count : counts_) count.without.peak = level_of(*count.what);
  }
  void after(const trace::Event& event, const PhasePosition& place) override {
    using enum format::EventType; // a snapshot sets the level before it lists the blocks
    if (event.type == window || event.type == level || event.type == open_phase || event.type == held ||
        event.type == displaced || event.type == early_death)
      return;
    if (place.known == KnownPhase::forward && updated_ != place.step) forward_ = place.step;
    if (place.known == KnownPhase::step) updated_ = place.step;
    for (Count& count : counts_) {
      if (advances(count, event.ordinal)) {
        count.blocks.earlier = count.blocks.all;
        count.left.earlier = count.left.all;
      }
      count.events.advance(event.ordinal, *count.what);
      const std::int64_t left =
          wrapping_sub(level_of(*count.what), wrapping_add(gone(count, place.known), count.events.excluded));
      if (left <= count.without.peak) continue;
      count.without.peak = left;
      count.without.path = place.path;
      count.without.step = place.step;
    }
  }
  void finished() override {
    for (Count& count : counts_)
      if (count.blocks.all > 0 || count.left.all > 0) count.without.last_held = phases().step();
  }

  std::vector<Without> take() const {
    std::vector<Without> out;
    for (const Count& count : counts_) out.push_back(count.without);
    return out;
  }

 private:
  struct ExcludedLevel {
    std::int64_t all = 0;
    std::int64_t earlier = 0; // the part of `all` that was born in earlier steps
  };
  // Follows `left_by_events`.
  struct EventLevel {
    std::int64_t excluded = 0;                            // bytes of those whose event is over
    std::size_t over = 0;                                 // the number of those whose event is over
    std::unordered_map<std::size_t, std::uint64_t> alive; // bytes, by index

    static std::size_t index_of(const Block& block, const Excluded& what) {
      const auto at =
          std::lower_bound(what.left_by_events.begin(), what.left_by_events.end(), block.birth,
                           [](const LeftByEvent& one, trace::Ordinal birth) { return one.birth < birth; });
      const bool is_left = at != what.left_by_events.end() && at->birth == block.birth;
      return is_left ? static_cast<std::size_t>(at - what.left_by_events.begin()) : what.left_by_events.size();
    }
    void born(const Block& block, const Excluded& what) {
      const std::size_t index = index_of(block, what);
      if (index < what.left_by_events.size() && block.memory == what.memory)
        alive[index] = measured(what, block);
    }
    void died(const Block& block, const Excluded& what) {
      const auto at = alive.find(index_of(block, what));
      if (at == alive.end()) return;
      if (at->first < over) excluded = wrapping_sub(excluded, at->second);
      alive.erase(at);
    }
    void advance(trace::Ordinal now, const Excluded& what) {
      for (; over < what.left_by_events.size() && what.left_by_events[over].over <= now; ++over)
        if (const auto at = alive.find(over); at != alive.end()) excluded = wrapping_add(excluded, at->second);
    }
  };
  struct Count {
    const Excluded* what = nullptr;
    Without without{};
    Step step = Step::none;   // the present step
    trace::Ordinal round = 0; // where the present round began
    std::size_t rounds = 0;   // that have begun
    ExcludedLevel blocks{};
    ExcludedLevel left{}; // of `left_by_steps`
    EventLevel events{};
  };
  struct ExcludedPart {
    ExcludedLevel Count::*level;
    std::uint64_t bytes; // 0: the block is not excluded
  };

  // True if the present step has had its update, and a forward before it. A program may mark its steps
  // elsewhere: then a forward after the update is that of the next update.
  bool is_after_update() const {
    return updated_ != Step::none && updated_ == phases().step() && forward_ == updated_;
  }
  // True if a step or a round has just begun. Notes it.
  bool advances(Count& count, trace::Ordinal at) const {
    if (!count.what->rounds) return std::exchange(count.step, phases().step()) != phases().step();
    const std::vector<trace::Ordinal>& rounds = *count.what->rounds;
    bool out = false;
    for (; count.rounds < rounds.size() && rounds[count.rounds] <= at; ++count.rounds) {
      count.round = rounds[count.rounds];
      out = true;
    }
    return out;
  }
  ExcludedPart part_of(const Excluded& what, const Block& block) const {
    if (const std::uint64_t bytes = bytes_of(what, block); bytes != 0) return {&Count::blocks, bytes};
    const bool left = block.memory == what.memory && what.left_by_steps.contains(block.stack);
    return {&Count::left, left ? measured(what, block) : 0};
  }
  static std::uint64_t measured(const Excluded& what, const Block& block) {
    if (what.measure == Measure::tensor) return block.tensor_bytes();
    if (!block.counted) return 0;
    return what.rounding ? block.spare() : block.given;
  }

  std::uint64_t bytes_of(const Excluded& what, const Block& block) const {
    if (block.memory != what.memory || (what.born && *what.born != block.born.known)) return 0;
    if (what.born_in && phases().paths().last(block.born.path) != *what.born_in) return 0;
    if (what.stacks && !what.stacks->contains(block.stack)) return 0;
    if (!what.spared.empty() && what.spared.contains(block.stack)) return 0;
    if (what.before_update && after_update_.contains(block.birth)) return 0;
    if (what.births && !std::binary_search(what.births->begin(), what.births->end(), block.birth)) return 0;
    const std::uint64_t bytes = measured(what, block);
    const auto fits = [bytes](const Sizes& sizes) { return sizes.from <= bytes && bytes <= sizes.to; };
    return what.sizes.empty() || std::any_of(what.sizes.begin(), what.sizes.end(), fits) ? bytes : 0;
  }
  static std::int64_t gone(const Count& count, KnownPhase present) {
    const bool needed =
        present == KnownPhase::backward || present == KnownPhase::recompute || present == KnownPhase::step;
    if (count.what->until_backward) return needed ? 0 : count.blocks.earlier;
    if (count.what->rounds) return count.blocks.earlier;
    const std::int64_t all =
        wrapping_sub(count.blocks.all, count.what->of_present_step ? count.blocks.earlier : 0);
    const std::int64_t stays = count.what->parts == 0 ? 0 : all / static_cast<std::int64_t>(count.what->parts);
    return wrapping_add(wrapping_sub(all, stays), count.left.earlier);
  }
  std::int64_t level_of(const Excluded& what) const {
    const Level& level = ledger().level(what.memory);
    return what.measure == Measure::tensor ? level.tensor : level.live;
  }

  std::vector<Count> counts_;
  bool looks_for_update_ = false;
  Step forward_ = Step::none;                       // the last step with a forward before its update
  Step updated_ = Step::none;                       // the last step with an update
  std::unordered_set<trace::Ordinal> after_update_; // live tensors, if `before_update` needs them
};

} // namespace

std::vector<Without> peaks_without(const trace::Trace& trace, const std::vector<Excluded>& each) {
  if (each.empty()) return {};
  files::Budget::of_command().looks(each.size() * trace.records());
  Replay replay(trace);
  Excluding excluding(each);
  replay.run(excluding);
  return excluding.take();
}

} // namespace memtrace::replay
