// Purpose: the blocks that are alive, and the levels of each memory.
#include "analyzer/replay/live_blocks.h"

#include <algorithm>

#include "analyzer/replay/block_rules.h"

namespace memtrace::replay {

using format::BirthEvent;
using format::DeathEvent;
using format::EventType;
using format::Kind;

LiveBlocks::LiveBlocks(const trace::Definitions& definitions, const trace::Facts& facts)
    : definitions_(definitions),
      levels_(256),
      inherited_(256),
      inherits_(facts.fork.has_value() || facts.before.has_value()),
      lost_births_(facts.lost_blocks.births),
      lost_deaths_(facts.lost_blocks.deaths) {
  if (facts.fork)
    inherited_[0] = {static_cast<std::int64_t>(facts.fork->live),
                     static_cast<std::int64_t>(facts.fork->tensor)};
  if (facts.before) {
    inherited_[0].live += static_cast<std::int64_t>(facts.before->live);
    inherited_[0].tensor += static_cast<std::int64_t>(facts.before->tensor);
    for (const auto& [memory, held] : facts.before->devices)
      inherited_[memory] = {static_cast<std::int64_t>(held.live), static_cast<std::int64_t>(held.tensor)};
  }
  levels_ = inherited_;
}

void LiveBlocks::apply(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher) {
  if (!early_deaths_.empty()) settle_early_deaths(event);
  switch (event.type) {
    case EventType::birth:
      birth(event, place, watcher);
      break;
    case EventType::death:
      death(event, watcher);
      break;
    case EventType::move:
      lift(event, watcher);
      break;
    case EventType::protect:
      protect(event, place, watcher);
      break;
    case EventType::counters:
      counters(event, watcher);
      break;
    case EventType::label:
      label(event, watcher);
      break;
    case EventType::window:
      restart();
      break;
    case EventType::level:
      level(event);
      break;
    case EventType::held:
      held(event, place, watcher);
      break;
    case EventType::displaced:
      displaced(event);
      break;
    case EventType::early_death:
      early_death(event);
      break;
    default:
      break;
  }
}

void LiveBlocks::enter(const Block& block, BlockWatcher& watcher) {
  Level& level = levels_[block.memory];
  grow(level.tensor, block.tensor_bytes());
  if (block.counted) {
    grow(level.live, block.given);
    watcher.flow(block.memory, block.given, 0, 1);
  }
  if (block.counted || block.tensor) watcher.born(block);
}

void LiveBlocks::leave(const Block& block, const trace::Event& event, BlockWatcher& watcher) {
  Level& level = levels_[block.memory];
  shrink(level.tensor, block.tensor_bytes());
  if (block.counted) {
    shrink(level.live, block.given);
    watcher.flow(block.memory, 0, block.given, 0);
  }
  if (block.counted || block.tensor) watcher.died(block, event);
}

void LiveBlocks::birth(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher) {
  if (event.kind == Kind::none && (event.flags & format::kRange) != 0) {
    put_down(event, place, watcher);
    return;
  }
  if (plain_birth(event, place, watcher)) return;
  Block block = block_of<BirthEvent>(event, place);
  block.module = event.as<BirthEvent>().module;
  if (block.sampled) {
    sampled_birth(block, event, watcher);
    return;
  }
  if (is_mapping(event.kind)) {
    map(block, event, watcher);
    return;
  }
  if (!early_deaths_.empty() && is_dead(block)) {
    pass_by(block, event, watcher);
    return;
  }
  const auto [at, fresh] = tables_[table_of(block.kind)].insert(block.memory, block.address, block);
  if (!fresh && at->birth_stamp > block.birth_stamp) { // the newer block is a snapshot's
    displaced_.push_back({block, at->birth_stamp});
    pass_by(block, event, watcher);
    return;
  }
  if (!fresh) {
    displace(*at, event, watcher);
    *at = block;
  }
  enter(block, watcher);
  if (block.kind == Kind::registered) lock(block);
}

// Takes the birth of most blocks: one that is recorded in full, at an address where no block is alive. Returns
// false if it is another.
bool LiveBlocks::plain_birth(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher) {
  if ((event.flags & format::kSampled) != 0 || is_mapping(event.kind) || !early_deaths_.empty()) return false;
  const auto [at, fresh] =
      tables_[table_of(event.kind)].place_for(memory_of(event), event.as<BirthEvent>().address);
  if (!fresh) return false;
  set_block<BirthEvent>(*at, event, place);
  at->module = event.as<BirthEvent>().module;
  enter(*at, watcher);
  if (at->kind == Kind::registered) lock(*at);
  return true;
}

// Takes a block that was gone when the snapshot was taken. It adds to the flows only.
void LiveBlocks::pass_by(const Block& block, const trace::Event& event, BlockWatcher& watcher) {
  enter(block, watcher);
  leave(block, event, watcher);
}

// Ends `block`, whose death was lost: there is a new block at its address. If the recorder dropped that death,
// the flows have its bytes, and the level fell when they came.
void LiveBlocks::displace(const Block& block, const trace::Event& event, BlockWatcher& watcher) {
  if (lost_deaths_ == 0 || block.memory != 0) {
    leave(block, event, watcher);
    return;
  }
  --lost_deaths_;
  shrink(levels_[block.memory].tensor, block.tensor_bytes());
  if (block.counted || block.tensor) watcher.died(block, event);
}

// True if the birth may be one that the recorder dropped. Then the flows brought the bytes of the block, and
// now they are subtracted.
bool LiveBlocks::dies_unlisted(const trace::Event& event, BlockWatcher& watcher) {
  if (lost_births_ == 0 || memory_of(event) != 0 || !is_memory(event.kind)) return false;
  --lost_births_;
  const std::uint64_t given = event.as<DeathEvent>().given;
  shrink(levels_[0].live, given);
  watcher.flow(0, 0, given, 0);
  return true;
}

// Marks the block or mapping at this address as locked. Its memory was counted at its birth. The mark stays,
// because programs unlock memory before they free it.
void LiveBlocks::lock(const Block& pinned) {
  if (Block* const block = tables_[allocated].find(pinned.memory, pinned.address)) block->locked = true;
  auto at = mappings_.upper_bound({pinned.memory, pinned.address});
  if (at == mappings_.begin()) return;
  Block& mapping = std::prev(at)->second;
  if (mapping.memory == pinned.memory && pinned.address - mapping.address < mapping.given)
    mapping.locked = true;
}

// The flows already have the block. Its record adds its site and position.
void LiveBlocks::sampled_birth(const Block& block, const trace::Event& event, BlockWatcher& watcher) {
  const auto [at, fresh] = tables_[sampled].insert(block.memory, block.address, block);
  if (!fresh) {
    watcher.died(*at, event); // its death was lost
    *at = block;
  }
  watcher.born(block);
}

void LiveBlocks::sampled_death(const trace::Event& event, BlockWatcher& watcher) {
  if (const Block* block = tables_[sampled].take(memory_of(event), event.as<DeathEvent>().address)) {
    watcher.died(*block, event);
  } else if (!inherits_) {
    ++unknown_deaths_;
  }
}

void LiveBlocks::death(const trace::Event& event, BlockWatcher& watcher) {
  if ((event.flags & format::kSampled) != 0) {
    sampled_death(event, watcher);
    return;
  }
  if ((event.flags & format::kRange) != 0 || is_mapping(event.kind)) {
    unmap(event, watcher);
    return;
  }
  const auto dead = event.as<DeathEvent>();
  const Block* const block = tables_[table_of(event.kind)].take_if(
      memory_of(event), dead.address,
      [&event](const Block& there) { return there.birth_stamp <= event.stamp; });
  if (block != nullptr) {
    leave(*block, event, watcher);
  } else if (!displaced_.empty() && forget_displaced(event)) {
    return; // the snapshot's levels do not have it
  } else if (!dies_unlisted(event, watcher)) {
    unknown_death(event, dead.given);
  }
}

// Ends a block without a known birth. If it may be inherited, the levels fall by its size.
void LiveBlocks::unknown_death(const trace::Event& event, std::uint64_t bytes) {
  const MemoryId memory = memory_of(event);
  Level& inherited = inherited_[memory];
  Level& level = levels_[memory];
  if (!inherits_ || (memory != 0 && inherited == Level{})) {
    ++unknown_deaths_;
    return;
  }
  const auto reduce = [bytes](std::int64_t& from, std::int64_t& too) {
    const std::uint64_t left = from > 0 ? static_cast<std::uint64_t>(from) : 0;
    shrink(from, std::min(bytes, left));
    shrink(too, std::min(bytes, left));
  };
  if (is_memory(event.kind)) reduce(inherited.live, level.live);
  if ((event.flags & format::kTensor) != 0) reduce(inherited.tensor, level.tensor);
}

void LiveBlocks::counters(const trace::Event& event, BlockWatcher& watcher) {
  const format::SmallTotals flows = event.as<format::CountersEvent>().flows;
  grow(levels_[0].live, flows.allocated - flows.freed);
  watcher.flow(0, flows.allocated, flows.freed, flows.births);
}

void LiveBlocks::label(const trace::Event& event, BlockWatcher& watcher) {
  const auto said = event.as<format::LabelEvent>();
  const auto role = role_named(definitions_.text(said.role));
  if (!role) return;
  const MemoryId memory = labelled_memory(memory_of(event), said.address);
  for (auto& table : tables_) {
    Block* const block = table.find(memory, said.address);
    if (block == nullptr) continue;
    block->label = *role;
    block->name = said.name;
    if (said.module != format::TextId{}) block->module = said.module;
    watcher.labelled(*block);
  }
  if (const auto at = mappings_.find({memory, said.address}); at != mappings_.end()) at->second.label = *role;
}

// Returns the memory that has a block at this address. memtrace_label does not say the memory, so its record
// says the host. An address of CUDA is unique among the host and all devices.
MemoryId LiveBlocks::labelled_memory(MemoryId said, std::uint64_t address) {
  if (said != 0) return said;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].live == 0 && levels_[i].tensor == 0) continue;
    const auto memory = static_cast<MemoryId>(i);
    for (auto& table : tables_)
      if (table.find(memory, address) != nullptr) return memory;
  }
  return said;
}

} // namespace memtrace::replay
