// Purpose: the height of a peak if some blocks were missing or smaller.
#include "analyzer/passes/peak_without.h"

#include <algorithm>

#include "analyzer/files/read_budget.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

class Excluding : public Observer {
 public:
  explicit Excluding(const std::vector<Excluded>& each) {
    for (const Excluded& what : each) counts_.push_back({&what, {}, 0, Step::none, 0});
  }

  void born(const Block& block) override {
    for (Count& count : counts_) {
      const std::uint64_t bytes = bytes_of(*count.what, block);
      if (bytes == 0) continue;
      count.level = wrapping_add(count.level, bytes);
      count.without.most = std::max(count.without.most, count.level);
      count.without.steps.insert(block.born.step);
    }
  }
  void died(const Block& block, const trace::Event&) override {
    for (Count& count : counts_) {
      const std::uint64_t bytes = bytes_of(*count.what, block);
      if (bytes == 0) continue;
      count.level = wrapping_sub(count.level, bytes);
      if (block.born.step < count.step) count.earlier = wrapping_sub(count.earlier, bytes);
      count.without.last_held = phases().step();
    }
  }
  void cut(const trace::Event&) override {
    for (Count& count : counts_) count.level = count.earlier = 0;
  }
  void started() override {
    for (Count& count : counts_) count.without.peak = level_of(*count.what);
  }
  void after(const trace::Event& event, const PhasePosition& place) override {
    using enum format::EventType; // a snapshot sets the level before it lists the blocks
    if (event.type == window || event.type == level || event.type == open_phase || event.type == held ||
        event.type == displaced || event.type == early_death)
      return;
    for (Count& count : counts_) {
      if (count.step != phases().step()) {
        count.step = phases().step();
        count.earlier = count.level;
      }
      const std::int64_t left = wrapping_sub(level_of(*count.what), gone(count, place.known));
      if (left <= count.without.peak) continue;
      count.without.peak = left;
      count.without.path = place.path;
      count.without.step = place.step;
    }
  }
  void finished() override {
    for (Count& count : counts_)
      if (count.level > 0) count.without.last_held = phases().step();
  }

  std::vector<Without> take() const {
    std::vector<Without> out;
    for (const Count& count : counts_) out.push_back(count.without);
    return out;
  }

 private:
  struct Count {
    const Excluded* what;
    Without without;
    std::int64_t level;       // level of the excluded blocks
    Step step = Step::none;   // the present step
    std::int64_t earlier = 0; // the part of `level` that was born in earlier steps
  };

  std::uint64_t bytes_of(const Excluded& what, const Block& block) const {
    if (block.memory != what.memory || (what.born && *what.born != block.born.known)) return 0;
    if (what.born_in && phases().paths().last(block.born.path) != *what.born_in) return 0;
    if (what.stacks && !what.stacks->contains(block.stack)) return 0;
    if (!what.spared.empty() && what.spared.contains(block.stack)) return 0;
    if (what.births && !std::binary_search(what.births->begin(), what.births->end(), block.birth)) return 0;
    const std::uint64_t bytes = what.measure == Measure::tensor ? block.tensor_bytes()
                                : block.counted                 ? (what.rounding ? block.spare() : block.given)
                                                                : 0;
    const auto fits = [bytes](const Sizes& sizes) { return sizes.from <= bytes && bytes <= sizes.to; };
    return what.sizes.empty() || std::any_of(what.sizes.begin(), what.sizes.end(), fits) ? bytes : 0;
  }
  static std::int64_t gone(const Count& count, KnownPhase present) {
    const bool needed =
        present == KnownPhase::backward || present == KnownPhase::recompute || present == KnownPhase::step;
    if (count.what->until_backward) return needed ? 0 : count.earlier;
    return count.what->parts == 0 ? count.level
                                  : count.level - count.level / static_cast<std::int64_t>(count.what->parts);
  }
  std::int64_t level_of(const Excluded& what) const {
    const Level& level = ledger().level(what.memory);
    return what.measure == Measure::tensor ? level.tensor : level.live;
  }

  std::vector<Count> counts_;
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
