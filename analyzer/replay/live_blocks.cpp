// Purpose: what is alive, and how much that is, in each memory.
#include "analyzer/replay/live_blocks.h"

#include <algorithm>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

using format::EventType;
using format::Kind;
using format::low;

MemoryId memory_of(const trace::Event& event) {
  return static_cast<MemoryId>(event.flags >> format::kMemoryShift);
}

bool is_mapping(Kind kind) {
  return kind == Kind::mmap_anon || kind == Kind::mmap_file || kind == Kind::shm || kind == Kind::stack;
}

// Registered memory was counted when it was got; a block of kind none lies inside memory that was.
bool is_memory(Kind kind) {
  return kind != Kind::none && kind != Kind::registered && kind != Kind::mmap_file;
}

std::uint64_t end_of(std::uint64_t address, std::uint64_t bytes) {
  return bytes > ~std::uint64_t{0} - address ? ~std::uint64_t{0} : address + bytes;
}

void grow(std::int64_t& level, std::uint64_t bytes) {
  level = wrapping_add(level, bytes);
}
void shrink(std::int64_t& level, std::uint64_t bytes) {
  level = wrapping_sub(level, bytes);
}

} // namespace

LiveBlocks::LiveBlocks(const trace::Definitions& definitions, const trace::Facts& facts)
    : definitions_(definitions),
      levels_(256),
      inherited_(256),
      inherits_(facts.fork.has_value()),
      lost_births_(facts.lost_blocks.births),
      lost_deaths_(facts.lost_blocks.deaths) {
  if (!inherits_) return;
  inherited_[0] = {static_cast<std::int64_t>(facts.fork->live), static_cast<std::int64_t>(facts.fork->tensor)};
  levels_[0] = inherited_[0];
}

LiveBlocks::Table LiveBlocks::table_of(Kind kind) {
  return kind == Kind::none ? inside : kind == Kind::registered ? registered : allocated;
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

Block LiveBlocks::block_of(const trace::Event& event, const PhasePosition& place) {
  Block block;
  block.address = event.word[0];
  block.given = event.word[1];
  block.asked = event.word[2];
  block.stack = format::StackId{low(event.word[3])};
  block.kind = event.kind;
  block.memory = memory_of(event);
  block.tensor = (event.flags & format::kTensor) != 0;
  block.sampled = (event.flags & format::kSampled) != 0;
  block.counted = is_memory(event.kind) && (event.flags & format::kNoAccess) == 0;
  if (block.sampled) block.counted = block.tensor = false;
  block.born = place;
  block.birth = event.ordinal;
  block.birth_stamp = event.stamp;
  return block;
}

void LiveBlocks::birth(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher) {
  if (event.kind == Kind::none && (event.flags & format::kRange) != 0) {
    put_down(event, place, watcher);
    return;
  }
  const Block block = block_of(event, place);
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
  if (!fresh && at->birth_stamp > block.birth_stamp) { // a snapshot's
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

// A block that was gone when the snapshot was taken leaves its flows alone.
void LiveBlocks::pass_by(const Block& block, const trace::Event& event, BlockWatcher& watcher) {
  enter(block, watcher);
  leave(block, event, watcher);
}

// The death of `block` was lost, for there is a new one at its address. If the recorder dropped it, the flows
// have its bytes: the level fell when they came.
void LiveBlocks::displace(const Block& block, const trace::Event& event, BlockWatcher& watcher) {
  if (lost_deaths_ == 0 || block.memory != 0) {
    leave(block, event, watcher);
    return;
  }
  --lost_deaths_;
  shrink(levels_[block.memory].tensor, block.tensor_bytes());
  if (block.counted || block.tensor) watcher.died(block, event);
}

// True if the birth may be one that the recorder dropped: its bytes came with the flows, and now they go.
bool LiveBlocks::dies_unlisted(const trace::Event& event, BlockWatcher& watcher) {
  if (lost_births_ == 0 || memory_of(event) != 0 || !is_memory(event.kind)) return false;
  --lost_births_;
  shrink(levels_[0].live, event.word[1]);
  watcher.flow(0, 0, event.word[1], 0);
  return true;
}

// The memory was counted when it was got. It stays known as locked, for programs unlock before they free.
void LiveBlocks::lock(const Block& pinned) {
  if (Block* const block = tables_[allocated].find(pinned.memory, pinned.address)) block->locked = true;
  auto at = mappings_.upper_bound({pinned.memory, pinned.address});
  if (at == mappings_.begin()) return;
  Block& mapping = std::prev(at)->second;
  if (mapping.memory == pinned.memory && pinned.address - mapping.address < mapping.given)
    mapping.locked = true;
}

void LiveBlocks::map(Block block, const trace::Event& event, BlockWatcher& watcher) {
  const std::uint64_t end = end_of(block.address, block.given);
  if (end == block.address) return;
  block.given = end - block.address;
  if (!early_deaths_.empty() && is_dead(block)) {
    pass_by(block, event, watcher);
    return;
  }
  cut(block.memory, block.address, end, event, watcher); // MAP_FIXED: the new one lies over the old
  const auto next = mappings_.lower_bound({block.memory, block.address});
  if (next != mappings_.end() && next->first.memory == block.memory && next->first.address < end) {
    pass_by(block, event, watcher); // a newer one lies over it
    return;
  }
  mappings_[{block.memory, block.address}] = block;
  enter(block, watcher);
}

// The mapping of the host that was at `address` at `stamp`. Null: none is known.
const Block* LiveBlocks::mapped_at(std::uint64_t address, format::Stamp stamp) const {
  const auto after = mappings_.upper_bound({0, address});
  if (after != mappings_.begin()) {
    const Block& block = std::prev(after)->second;
    if (block.memory == 0 && address < block.address + block.given && block.birth_stamp <= stamp) return &block;
  }
  for (const Displaced& one : displaced_) {
    const Block& block = one.block;
    if (is_mapping(block.kind) && block.memory == 0 && block.address <= address &&
        address < block.address + block.given && one.left_at(stamp))
      return &block;
  }
  return nullptr;
}

// mremap, its first half: the real call follows, and other threads may unmap the new place before it.
void LiveBlocks::lift(const trace::Event& event, BlockWatcher& watcher) {
  lifted_.erase(event.thread);
  const std::uint64_t from = event.word[0], before = event.word[4];
  const Block* const old = mapped_at(from, event.stamp);
  if (old == nullptr) return; // mapped before we looked, or by libc itself
  lifted_[event.thread] = *old;
  if (before != 0) cut(0, from, end_of(from, before), event, watcher);
}

// Its second half: the mapping keeps what it is, and its site becomes the one that moved or grew it.
void LiveBlocks::put_down(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher) {
  const auto lifted = lifted_.find(event.thread);
  if (lifted == lifted_.end()) return;
  Block block = lifted->second;
  lifted_.erase(lifted);
  block.address = event.word[0];
  block.given = event.word[1];
  block.asked = event.word[2];
  block.stack = format::StackId{low(event.word[3])};
  block.born = place;
  block.birth = event.ordinal;
  block.birth_stamp = event.stamp;
  map(block, event, watcher);
}

// Makes `at` a border between two mappings, if it lies inside of one.
void LiveBlocks::split(MemoryId memory, std::uint64_t at) {
  auto next = mappings_.lower_bound({memory, at});
  if (next == mappings_.begin()) return;
  Block& block = std::prev(next)->second;
  if (block.memory != memory || block.address + block.given <= at) return;
  Block tail = block;
  tail.address = at;
  tail.given = block.address + block.given - at;
  tail.asked = std::min(tail.given, block.asked);
  block.given -= tail.given;
  block.asked = std::min(block.given, block.asked);
  mappings_.emplace_hint(next, Key{memory, at}, tail);
}

// Ends what was mapped in [from, to) before `event`. Bytes that are or were.
std::uint64_t LiveBlocks::cut(MemoryId memory, std::uint64_t from, std::uint64_t to, const trace::Event& event,
                              BlockWatcher& watcher) {
  split(memory, from);
  split(memory, to);
  std::uint64_t bytes = 0;
  auto at = mappings_.lower_bound({memory, from});
  while (at != mappings_.end() && at->first.memory == memory && at->first.address < to) {
    bytes += at->second.given;
    const Block block = at->second;
    if (block.birth_stamp > event.stamp) { // a snapshot's, mapped anew before this was said
      ++at;
      continue;
    }
    at = mappings_.erase(at);
    leave(block, event, watcher);
  }
  return bytes;
}

// It is in the flows already: what its record adds is who held it.
void LiveBlocks::sampled_birth(const Block& block, const trace::Event& event, BlockWatcher& watcher) {
  const auto [at, fresh] = tables_[sampled].insert(block.memory, block.address, block);
  if (!fresh) {
    watcher.died(*at, event); // its death was lost
    *at = block;
  }
  watcher.born(block);
}

void LiveBlocks::sampled_death(const trace::Event& event, BlockWatcher& watcher) {
  if (const Block* block = tables_[sampled].take(memory_of(event), event.word[0])) {
    watcher.died(*block, event);
  } else if (!inherits_) {
    ++unknown_deaths_;
  }
}

// What was so when a window began that no other goes before: all is as it says, and nothing is known beyond.
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
  const MemoryId memory = memory_of(event);
  levels_[memory] = {static_cast<std::int64_t>(event.word[0]), static_cast<std::int64_t>(event.word[1])};
  inherited_[memory] = levels_[memory]; // less what is small, and less each that is held
  if (memory == 0) shrink(inherited_[memory].live, event.word[3]);
}

// What a snapshot says of a block.
Block LiveBlocks::listed(const trace::Event& event, const PhasePosition& place) const {
  Block block = block_of(event, place);
  block.birth_stamp = event.word[5];
  block.stack = format::StackId{low(event.word[3])};
  if (const std::uint32_t role = format::high(event.word[3]); role != 0)
    block.label = role_named(definitions_.text(format::TextId{role})).value_or(Role::unknown);
  block.given = end_of(block.address, block.given) - block.address;
  return block;
}

void LiveBlocks::held(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher) {
  const Block block = listed(event, place);
  if (is_mapping(block.kind) && !block.sampled) {
    const auto next = mappings_.lower_bound({block.memory, block.address});
    const bool apart = (next == mappings_.end() || next->first.memory != block.memory ||
                        next->first.address >= block.address + block.given) &&
                       (next == mappings_.begin() || std::prev(next)->first.memory != block.memory ||
                        std::prev(next)->second.address + std::prev(next)->second.given <= block.address);
    if (block.given == 0 || !apart) return; // mappings are disjoint
    mappings_.emplace_hint(next, Key{block.memory, block.address}, block);
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
  if (displaced_.size() < format::kMostLate) displaced_.push_back({listed(event, {}), event.word[4]});
}

// True if `death` is of a block that is in no level any more.
bool LiveBlocks::forget_displaced(const trace::Event& death) {
  const auto at = std::find_if(displaced_.begin(), displaced_.end(), [&](const Displaced& one) {
    return one.block.address == death.word[0] && one.block.memory == memory_of(death) &&
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

// True if the snapshot has the death of `block`, whose birth comes now.
bool LiveBlocks::is_dead(const Block& block) {
  const auto at = std::find_if(early_deaths_.begin(), early_deaths_.end(), [&](const trace::Event& death) {
    const bool mapping = (death.flags & format::kRange) != 0;
    return death.word[0] == block.address && memory_of(death) == block.memory &&
           mapping == is_mapping(block.kind) && (mapping || table_of(death.kind) == table_of(block.kind)) &&
           death.word[5] >= block.birth_stamp;
  });
  if (at == early_deaths_.end()) return false;
  early_deaths_.erase(at);
  return true;
}

// Births that are later than all of these deaths follow: what has found none was never recorded.
void LiveBlocks::settle_early_deaths(const trace::Event& event) {
  const bool of_snapshot = event.type == EventType::window || event.type == EventType::level ||
                           event.type == EventType::held || event.type == EventType::open_phase ||
                           event.type == EventType::displaced || event.type == EventType::early_death;
  if (of_snapshot || std::any_of(early_deaths_.begin(), early_deaths_.end(),
                                 [&](const trace::Event& death) { return death.word[5] >= event.stamp; }))
    return;
  for (const trace::Event& death : early_deaths_)
    if (death.word[1] != 0) unknown_death(death, death.word[1]);
  early_deaths_.clear();
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
  BlockTable<Block>& table = tables_[table_of(event.kind)];
  Block* const block = table.find(memory_of(event), event.word[0]);
  if (block != nullptr && block->birth_stamp <= event.stamp) {
    leave(*table.take(memory_of(event), event.word[0]), event, watcher);
  } else if (!displaced_.empty() && forget_displaced(event)) {
    return; // the snapshot's levels have it no more
  } else if (!dies_unlisted(event, watcher)) {
    unknown_death(event, event.word[1]);
  }
}

void LiveBlocks::unmap(const trace::Event& event, BlockWatcher& watcher) {
  const MemoryId memory = memory_of(event);
  std::uint64_t bytes = event.word[1];
  if (bytes == 0) { // of unknown size: all that was mapped there at once
    const auto at = mappings_.find({memory, event.word[0]});
    if (at != mappings_.end()) bytes = at->second.given;
  }
  const std::uint64_t to = end_of(event.word[0], bytes);
  const std::uint64_t unknown = never_mapped(memory, event.word[0], to, event.stamp);
  cut(memory, event.word[0], to, event, watcher);
  if (unknown != 0 && (event.flags & format::kReleased) == 0) unknown_death(event, unknown);
}

// Returns the bytes of [from, to) that no mapping has now, and none that a newer one displaced had at `death`.
// Newer mappings may displace one piece by piece, and be gone themselves before the late death comes.
std::uint64_t LiveBlocks::never_mapped(MemoryId memory, std::uint64_t from, std::uint64_t to,
                                       format::Stamp death) const {
  std::uint64_t unknown = 0;
  while (from < to) {
    std::uint64_t known_to = from, next = to;
    const auto see = [&](const Block& block) {
      if (block.memory != memory || block.address + block.given <= from) return;
      if (block.address <= from) known_to = std::max(known_to, block.address + block.given);
      if (block.address > from) next = std::min(next, block.address);
    };
    const auto after = mappings_.upper_bound({memory, from});
    if (after != mappings_.begin()) see(std::prev(after)->second);
    if (after != mappings_.end()) see(after->second);
    for (const Displaced& one : displaced_)
      if (is_mapping(one.block.kind) && one.left_at(death)) see(one.block);
    if (known_to == from) unknown += next - from;
    from = known_to != from ? known_to : next;
  }
  return unknown;
}

// What was inherited may end without having begun here, by its own size.
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

// Opening a reservation is where its memory begins, closing it is where it ends.
void LiveBlocks::protect(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher) {
  const std::uint64_t from = event.word[0];
  const std::uint64_t to = end_of(from, event.word[1]);
  const bool access = low(event.word[2]) != 0;
  split(0, from);
  split(0, to);
  for (auto at = mappings_.lower_bound({0, from});
       at != mappings_.end() && at->first.memory == 0 && at->first.address < to; ++at) {
    Block& block = at->second;
    if (!is_memory(block.kind) || block.counted == access) continue;
    if (access) {
      block.counted = true;
      block.born = place;
      block.birth = event.ordinal;
      block.birth_stamp = event.stamp;
      enter(block, watcher);
    } else {
      leave(block, event, watcher);
      block.counted = false;
    }
  }
}

void LiveBlocks::counters(const trace::Event& event, BlockWatcher& watcher) {
  grow(levels_[0].live, event.word[0] - event.word[1]);
  watcher.flow(0, event.word[0], event.word[1], event.word[2]);
}

void LiveBlocks::label(const trace::Event& event, BlockWatcher& watcher) {
  const auto role = role_named(definitions_.text(format::TextId{low(event.word[2])}));
  if (!role) return;
  const Key key{memory_of(event), event.word[0]};
  for (auto& table : tables_) {
    Block* const block = table.find(key.memory, key.address);
    if (block == nullptr) continue;
    block->label = *role;
    watcher.labelled(*block);
  }
  if (const auto at = mappings_.find(key); at != mappings_.end()) at->second.label = *role;
}

} // namespace memtrace::replay
