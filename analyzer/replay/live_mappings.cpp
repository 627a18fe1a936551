// Purpose: mappings: they overlap, end in parts, move, and open or close.
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
  const auto move = event.as<format::MoveEvent>();
  const Block* const old = mapped_at(move.from, event.stamp);
  if (old == nullptr) return; // mapped before we looked, or by libc itself
  lifted_[event.thread] = *old;
  if (move.given_before != 0) cut(0, move.from, end_of(move.from, move.given_before), event, watcher);
}

// Its second half: the mapping keeps what it is, and its site becomes the one that moved or grew it.
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
  mappings_.emplace_hint(next, BlockKey{memory, at}, tail);
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

void LiveBlocks::unmap(const trace::Event& event, BlockWatcher& watcher) {
  const auto dead = event.as<DeathEvent>();
  const MemoryId memory = memory_of(event);
  const std::uint64_t from = dead.address;
  std::uint64_t bytes = dead.given;
  if (bytes == 0) { // of unknown size: all that was mapped there at once
    const auto at = mappings_.find({memory, from});
    if (at != mappings_.end()) bytes = at->second.given;
  }
  const std::uint64_t to = end_of(from, bytes);
  const std::uint64_t unknown = never_mapped(memory, from, to, event.stamp);
  cut(memory, from, to, event, watcher);
  if (unknown != 0 && (event.flags & format::kReleased) == 0) unknown_death(event, unknown);
}

// Returns the bytes of [from, to) that no mapping has now, and none that a newer one displaced had at `death`.
// Newer mappings may displace one piece by piece, and be gone themselves before the late death comes.
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

// Opening a reservation is where its memory begins, closing it is where it ends.
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
