// Purpose: the turning points of all levels, from which the peaks follow without another pass.
#include "analyzer/passes/peak_history.h"

#include <algorithm>
#include <utility>

namespace memtrace::replay {
namespace {

// Levels and blocks are below. Larger ones are damage, and their differences would wrap.
constexpr std::int64_t kLimit = std::int64_t{1} << 60;
// Large blocks that are each smaller than the one before: each raises the level, so a real program has few.
constexpr std::size_t kMostBlocks = 1024;

std::int64_t depth_of(double part, std::int64_t highest) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(part * static_cast<double>(highest)));
}

} // namespace

LevelHistory::LevelHistory(double part, std::int64_t level, std::size_t& room)
    : part_(part), begin_(level), room_(&room), highest_(level) {
  set_turn(level, 0, {});
}

void LevelHistory::MadeBlocks::add(MadeBlock block, std::int64_t depth) {
  if (block.bytes > first_largest.bytes) first_largest = block;
  if (block.bytes < static_cast<std::uint64_t>(depth)) return;
  while (!falling.empty() && falling.back().bytes <= block.bytes) falling.pop_back();
  falling.push_back(block);
}

void LevelHistory::MadeBlocks::add(MadeBlocks& later) {
  if (later.first_largest.bytes == 0) return;
  if (later.first_largest.bytes > first_largest.bytes) first_largest = later.first_largest;
  if (!later.falling.empty()) {
    while (!falling.empty() && falling.back().bytes <= later.falling.front().bytes) falling.pop_back();
    falling.insert(falling.end(), later.falling.begin(), later.falling.end());
    later.falling.clear();
  }
  later.first_largest = {};
}

void LevelHistory::born(std::uint64_t bytes, format::StackId stack) {
  if (bytes == 0 || !whole_) return;
  if (bytes >= static_cast<std::uint64_t>(kLimit) || after_.falling.size() > kMostBlocks) return give_up();
  after_.add({bytes, stack}, depth_);
}

// Not inline, because at most events the level neither turns nor has a new extreme.
[[gnu::noinline]] void LevelHistory::move(std::int64_t level, trace::Ordinal at, const PhasePosition& place) {
  if (!whole_) return;
  if (level >= kLimit || level <= -kLimit) return give_up();
  if (rises_ ? level <= turns_at_ : level >= turns_at_) {
    turn_to(level, at, place);
  } else {
    before_.add(after_);
    if (before_.falling.size() > kMostBlocks) return give_up();
    set_turn(level, at, place);
  }
}

// Keeps the turning point. The level has passed it by the depth, so this level is the first of the next leg.
void LevelHistory::turn_to(std::int64_t level, trace::Ordinal at, const PhasePosition& place) {
  const std::size_t more = before_.falling.size() + 2;
  if (more > *room_) return give_up();
  const std::size_t had = parts_.size();
  each(before_, [this](const MadeBlock& block) {
    parts_.push_back({static_cast<std::int64_t>(block.bytes), 0, Step::none, PathId::other, block.stack, true});
  });
  parts_.push_back(turn_);
  *room_ -= parts_.size() - had;
  before_.first_largest = {};
  before_.falling.clear();
  std::swap(before_, after_);
  rises_ = !rises_;
  set_turn(level, at, place);
}

void LevelHistory::set_turn(std::int64_t level, trace::Ordinal at, const PhasePosition& place) {
  turn_ = {level, at, place.step, place.path, {}, false};
  if (level > highest_) highest_ = level;
  if (rises_ && level == highest_) depth_ = depth_of(part_, highest_);
  turns_at_ = rises_ ? level - depth_ : level + depth_;
}

template <class Take>
void LevelHistory::each(const MadeBlocks& made, Take take) {
  const MadeBlock& first = made.first_largest;
  if (first.bytes != 0) take(first);
  for (const MadeBlock& block : made.falling) take(block);
}

void LevelHistory::give_up() {
  whole_ = false;
  *room_ += parts_.size();
  parts_ = {};
  before_ = after_ = {};
}

std::optional<std::vector<LocalPeak>> LevelHistory::peaks(std::int64_t depth) const {
  if (!whole_ || depth < depth_) return std::nullopt;
  PeakTracker tracker(depth, begin_);
  for (const HistoryPart& part : parts_) {
    if (part.block) {
      tracker.born(static_cast<std::uint64_t>(part.value), part.stack);
    } else {
      tracker.reached(part.value, part.at, part.path, part.step);
    }
  }
  each(before_, [&tracker](const MadeBlock& block) { tracker.born(block.bytes, block.stack); });
  tracker.reached(turn_.value, turn_.at, turn_.path, turn_.step);
  return tracker.take();
}

void PeakHistory::started() {
  of(0);
}

PeakHistory::Histories& PeakHistory::of(MemoryId memory) {
  if (memory >= memories_.size()) memories_.resize(std::size_t{memory} + 1);
  std::unique_ptr<Histories>& there = memories_[memory];
  if (there == nullptr) {
    // A device has no level before its first event. The host may inherit one.
    const Level begin = memory == 0 && memories_.size() == 1 ? ledger().level(0) : Level{};
    there = std::make_unique<Histories>(Histories{{part_, begin.live, room_}, {part_, begin.tensor, room_}});
  }
  return *there;
}

void PeakHistory::born(const Block& block) {
  Histories& histories = of(block.memory);
  histories.live.born(bytes_in(Measure::live, block), block.stack);
  histories.tensor.born(bytes_in(Measure::tensor, block), block.stack);
}

void PeakHistory::after(const trace::Event& event, const PhasePosition& place) {
  using enum format::EventType;
  if (lists_state(event.type)) {
    all_may_change_ = true;
    return;
  }
  if (all_may_change_) {
    for (std::size_t i = 0; i < 256; ++i)
      if (i < memories_.size() || ledger().level(static_cast<MemoryId>(i)) != Level{})
        reached(static_cast<MemoryId>(i), event, place);
    all_may_change_ = ledger().awaits_births();
    return;
  }
  if (event.type != birth && event.type != death && event.type != counters &&
      event.type != format::EventType::move && event.type != protect)
    return;
  reached(0, event, place);
  if (const auto memory = static_cast<MemoryId>(event.flags >> format::kMemoryShift); memory != 0)
    reached(memory, event, place);
}

void PeakHistory::reached(MemoryId memory, const trace::Event& event, const PhasePosition& place) {
  Histories& histories = of(memory);
  const Level& level = ledger().level(memory);
  histories.live.reached(level.live, event.ordinal, place);
  histories.tensor.reached(level.tensor, event.ordinal, place);
}

std::optional<std::vector<LocalPeak>> PeakHistory::peaks(MemoryId memory, Measure measure,
                                                         std::int64_t depth) const {
  if (memory >= memories_.size() || memories_[memory] == nullptr) return std::nullopt;
  const Histories& histories = *memories_[memory];
  return (measure == Measure::tensor ? histories.tensor : histories.live).peaks(depth);
}

} // namespace memtrace::replay
