// Purpose: the contents of a snapshot: blocks that were alive when a window began, and births or deaths that
// come late.
#include "analyzer/replay/live_blocks.h"

#include <algorithm>

#include "analyzer/replay/block_rules.h"
#include "analyzer/trace/snapshot_events.h"

namespace memtrace::replay {

using format::DeathEvent;
using format::DisplacedEvent;
using format::EarlyDeathEvent;
using format::HeldEvent;

// Discards all state, because a gap is before the window. After this only the snapshot is known.
void LiveBlocks::restart() {
  for (auto& table : tables_) table = {};
  mappings_.clear();
  lifted_.clear();
  displaced_.clear();
  early_deaths_.clear();
  levels_.assign(levels_.size(), {});
  inherited_ = levels_;
  inherits_ = true;
}

void LiveBlocks::level(const trace::Event& event) {
  const auto said = event.as<format::LevelEvent>();
  const MemoryId memory = memory_of(event);
  levels_[memory] = {said.live, said.tensor};
  inherited_[memory] = levels_[memory]; // without small blocks; held() subtracts each block that it lists
  if (memory == 0) shrink(inherited_[memory].live, static_cast<std::uint64_t>(said.small));
}

// Returns the block that a record of a snapshot describes.
template <class Listed>
Block LiveBlocks::listed(const trace::Event& event, const PhasePosition& place) const {
  Block block = block_of<Listed>(event, place);
  const auto said = event.as<Listed>();
  block.birth_stamp = said.birth;
  if (said.role != format::TextId{})
    block.label = role_named(definitions_.text(said.role)).value_or(Role::unknown);
  block.given = end_of(block.address, block.given) - block.address;
  return block;
}

void LiveBlocks::held(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher) {
  const Block block = listed<HeldEvent>(event, place);
  if (is_mapping(block.kind) && !block.sampled) {
    const auto next = mappings_.lower_bound({block.memory, block.address});
    const bool apart = (next == mappings_.end() || next->first.memory != block.memory ||
                        next->first.address >= block.address + block.given) &&
                       (next == mappings_.begin() || std::prev(next)->first.memory != block.memory ||
                        std::prev(next)->second.address + std::prev(next)->second.given <= block.address);
    if (block.given == 0 || !apart) return; // mappings are disjoint
    mappings_.emplace_hint(next, BlockKey{block.memory, block.address}, block);
  } else if (!tables_[block.sampled ? sampled : table_of(block.kind)]
                  .insert(block.memory, block.address, block)
                  .second) {
    return;
  }
  Level& inherited = inherited_[block.memory];
  if (block.counted) shrink(inherited.live, block.given);
  shrink(inherited.tensor, block.tensor_bytes());
  if (block.counted || block.tensor || block.sampled) watcher.born(block);
}

void LiveBlocks::displaced(const trace::Event& event) {
  if (displaced_.size() < format::kMostLate)
    displaced_.push_back({listed<DisplacedEvent>(event, {}), event.as<DisplacedEvent>().by});
}

// True if `death` ends a displaced block, which is not in any level.
bool LiveBlocks::forget_displaced(const trace::Event& death) {
  const std::uint64_t address = death.as<DeathEvent>().address;
  const auto at = std::find_if(displaced_.begin(), displaced_.end(), [&](const Displaced& one) {
    return one.block.address == address && one.block.memory == memory_of(death) &&
           !is_mapping(one.block.kind) && table_of(one.block.kind) == table_of(death.kind) &&
           one.left_at(death.stamp);
  });
  if (at == displaced_.end()) return false;
  displaced_.erase(at);
  return true;
}

void LiveBlocks::early_death(const trace::Event& event) {
  if (early_deaths_.size() < format::kMostLate) early_deaths_.push_back(event);
}

// True if the snapshot has the death of `block`, whose birth comes only now.
bool LiveBlocks::is_dead(const Block& block) {
  const auto at = std::find_if(early_deaths_.begin(), early_deaths_.end(), [&](const trace::Event& death) {
    const auto said = death.as<EarlyDeathEvent>();
    const bool mapping = (death.flags & format::kRange) != 0;
    return said.address == block.address && memory_of(death) == block.memory &&
           mapping == is_mapping(block.kind) && (mapping || table_of(death.kind) == table_of(block.kind)) &&
           said.death >= block.birth_stamp;
  });
  if (at == early_deaths_.end()) return false;
  early_deaths_.erase(at);
  return true;
}

// Ends the early deaths once all events are later than they are. An early death without a birth by then has a
// birth that was never recorded.
void LiveBlocks::settle_early_deaths(const trace::Event& event) {
  const auto is_later = [&](const trace::Event& death) {
    return death.as<EarlyDeathEvent>().death >= event.stamp;
  };
  if (trace::is_of_snapshot(event.type) || std::any_of(early_deaths_.begin(), early_deaths_.end(), is_later))
    return;
  for (const trace::Event& death : early_deaths_) {
    const std::uint64_t given = death.as<EarlyDeathEvent>().given;
    if (given != 0) unknown_death(death, given);
  }
  early_deaths_.clear();
}

} // namespace memtrace::replay
