// Purpose: mappings: they overlap, are unmapped in parts, move, and gain or lose access.
#include "analyzer/replay/live_blocks.h"

#include <algorithm>

#include "analyzer/replay/block_rules.h"

namespace memtrace::replay {

using format::BirthEvent;
using format::DeathEvent;

void LiveBlocks::map(Block block, const trace::Event& event, BlockWatcher& watcher) {
  const std::uint64_t end = end_of(block.address, block.given);
  if (end == block.address) return;
  block.given = end - block.address;
  if (!early_deaths_.empty() && is_dead(block)) {
    pass_by(block, event, watcher);
    return;
  }
  cut(block.memory, block.address, end, event, watcher); // MAP_FIXED: the new mapping replaces the old one
  const auto next = mappings_.lower_bound({block.memory, block.address});
  if (next != mappings_.end() && next->first.memory == block.memory && next->first.address < end) {
    pass_by(block, event, watcher); // a newer mapping has replaced it
    return;
  }
  mappings_[{block.memory, block.address}] = block;
  enter(block, watcher);
}

// Returns the mapping of the host that was at `address` at `stamp`. Returns null if none is known.
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

// Takes a mapping from its old place: the first half of mremap. The real call follows, and before it other
// threads may unmap the new place.
void LiveBlocks::lift(const trace::Event& event, BlockWatcher& watcher) {
  lifted_.erase(event.thread);
  const auto move = event.as<format::MoveEvent>();
  const Block* const old = mapped_at(move.from, event.stamp);
  if (old == nullptr) return; // mapped before recording began, or by libc itself
  lifted_[event.thread] = *old;
  if (move.given_before != 0) cut(0, move.from, end_of(move.from, move.given_before), event, watcher);
}

// Puts a mapping at its new place: the second half of mremap. The mapping retains its properties, and its site
// becomes that of the call that moved or grew it.
void LiveBlocks::put_down(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher) {
  const auto lifted = lifted_.find(event.thread);
  if (lifted == lifted_.end()) return;
  Block block = lifted->second;
  lifted_.erase(lifted);
  describe(block, event.as<BirthEvent>());
  block.born = place;
  block.birth = event.ordinal;
  block.birth_stamp = event.stamp;
  map(block, event, watcher);
}

// Makes `at` a border between two mappings, if it is inside one.
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
  mappings_.emplace_hint(next, BlockKey{memory, at}, tail);
}

// Ends the mappings in [from, to) that are older than `event`. Returns the bytes of all mappings there.
std::uint64_t LiveBlocks::cut(MemoryId memory, std::uint64_t from, std::uint64_t to, const trace::Event& event,
                              BlockWatcher& watcher) {
  split(memory, from);
  split(memory, to);
  std::uint64_t bytes = 0;
  auto at = mappings_.lower_bound({memory, from});
  while (at != mappings_.end() && at->first.memory == memory && at->first.address < to) {
    bytes += at->second.given;
    const Block block = at->second;
    if (block.birth_stamp > event.stamp) { // from a snapshot: mapped anew before this record came
      ++at;
      continue;
    }
    at = mappings_.erase(at);
    leave(block, event, watcher);
  }
  return bytes;
}

void LiveBlocks::unmap(const trace::Event& event, BlockWatcher& watcher) {
  const auto dead = event.as<DeathEvent>();
  const MemoryId memory = memory_of(event);
  const std::uint64_t from = dead.address;
  std::uint64_t bytes = dead.given;
  if (bytes == 0) { // of unknown size: the whole mapping that begins there
    const auto at = mappings_.find({memory, from});
    if (at != mappings_.end()) bytes = at->second.given;
  }
  const std::uint64_t to = end_of(from, bytes);
  const std::uint64_t unknown = never_mapped(memory, from, to, event.stamp);
  cut(memory, from, to, event, watcher);
  if (unknown != 0 && (event.flags & format::kReleased) == 0) unknown_death(event, unknown);
}

// Returns the bytes of [from, to) that no mapping has now, and that no displaced mapping had at `death`. Newer
// mappings may displace a mapping piece by piece, and be gone themselves before the late death comes.
std::uint64_t LiveBlocks::never_mapped(MemoryId memory, std::uint64_t from, std::uint64_t to,
                                       format::Stamp death) const {
  return format::uncovered_bytes(from, to, [&](std::uint64_t at, auto see) {
    const auto see_block = [&](const Block& block) {
      if (block.memory == memory) see(block.address, end_of(block.address, block.given));
    };
    const auto after = mappings_.upper_bound({memory, at});
    if (after != mappings_.begin()) see_block(std::prev(after)->second);
    if (after != mappings_.end()) see_block(after->second);
    for (const Displaced& one : displaced_)
      if (is_mapping(one.block.kind) && one.left_at(death)) see_block(one.block);
  });
}

// Takes a mprotect. A reservation becomes memory if it is opened, and is not memory any more if it is closed.
void LiveBlocks::protect(const trace::Event& event, const PhasePosition& place, BlockWatcher& watcher) {
  const auto said = event.as<format::ProtectEvent>();
  const std::uint64_t from = said.address;
  const std::uint64_t to = end_of(from, said.bytes);
  const bool access = said.protection != 0;
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

} // namespace memtrace::replay
