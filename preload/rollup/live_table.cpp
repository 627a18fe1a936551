// Purpose: the live blocks, by address: one or two probes for each birth and death.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/live_table.h"

namespace memtrace::rollup {

LedgerBlock* Live::find(std::uint64_t address, std::uint8_t memory, unsigned table) {
  if (young_.capacity == 0) return nullptr;
  const std::uint32_t hashed = hash(address, memory, table);
  LedgerBlock& place = young_place(hashed);
  if (has_key(place, address, memory, table)) {
    if (place.state != 0) return &place;
    if (address != 0) return nullptr; // 0: maybe no block was ever there
  }
  return find_old(hashed, address, memory, table);
}

LedgerBlock* Live::find_old(std::uint32_t hashed, std::uint64_t address, std::uint8_t memory, unsigned table) {
  if (old_used_ == 0) return nullptr;
  const std::uint32_t mask = old_.capacity - 1;
  for (std::uint32_t at = hashed & mask; old_.at[at].state != 0; at = (at + 1) & mask)
    if (has_key(old_.at[at], address, memory, table)) return &old_.at[at];
  return nullptr;
}

void Live::put_old(const LedgerBlock& block) {
  const std::uint32_t mask = old_.capacity - 1;
  std::uint32_t at = hash(block) & mask;
  while (old_.at[at].state != 0) at = (at + 1) & mask;
  old_.at[at] = block;
}

// Spreads the blocks of the first `before` slots over all slots. The order is that of the probes, and it begins
// after an empty slot. So in its half, each block goes to its old place or to an earlier one. It never goes
// past a block that has yet to move.
void Live::spread_old(std::uint32_t before) {
  std::uint32_t empty = 0;
  while (old_.at[empty].state != 0) ++empty;
  for (std::uint32_t i = 1; i < before; ++i) {
    LedgerBlock& slot = old_.at[(empty + i) & (before - 1)];
    if (slot.state == 0) continue;
    const LedgerBlock block = slot;
    slot.state = 0;
    put_old(block);
  }
}

// Moves each entry of the first `before` places to its place after the growth. That is the same place, or a new
// and empty one.
void Live::spread_young(std::uint32_t before) {
  for (std::uint32_t i = 0; i < before; ++i) {
    LedgerBlock& place = young_.at[i];
    if (place.address == 0 && place.state == 0) continue; // it never had a block
    LedgerBlock& target = young_place(hash(place));
    if (&target == &place) continue;
    target = place;
    place = {};
  }
}

bool Live::grow(const Host& host) {
  const std::uint32_t before = old_.capacity;
  if (!old_.grow(host, kFirst, kMost)) return false;
  if (before != 0) spread_old(before);
  while (young_.capacity < old_.capacity / 4 && young_.grow(host, kFirstYoung, kMostYoung))
    spread_young(young_.capacity / 2);
  return true;
}

bool Live::add(const Host& host, const LedgerBlock& block) {
  if (young_.capacity == 0 && !young_.grow(host, kFirstYoung, kMostYoung)) return false;
  const std::uint32_t hashed = hash(block);
  LedgerBlock* place = &young_place(hashed);
  if (place->state != 0 && old_used_ >= old_.capacity / 4 * 3) {
    if (!grow(host)) return false;
    place = &young_place(hashed);
  }
  if (place->state == 0) {
    ++young_used_;
  } else {
    put_old(*place);
    ++old_used_;
  }
  *place = block;
  return true;
}

void Live::erase(LedgerBlock* block) {
  if (block >= young_.at && block < young_.at + young_.capacity) {
    block->state = 0;
    --young_used_;
  } else {
    erase_old(block);
  }
}

// Removes `block`. The blocks behind it move up, so the table needs no tombstones.
void Live::erase_old(LedgerBlock* block) {
  const std::uint32_t mask = old_.capacity - 1;
  auto hole = static_cast<std::uint32_t>(block - old_.at);
  for (std::uint32_t at = (hole + 1) & mask; old_.at[at].state != 0; at = (at + 1) & mask) {
    const std::uint32_t home = hash(old_.at[at]) & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue; // it would lie before its first slot
    old_.at[hole] = old_.at[at];
    hole = at;
  }
  old_.at[hole].state = 0;
  --old_used_;
}

} // namespace memtrace::rollup
