// Purpose: the live blocks, by address: one or two probes for each birth and death.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/live_table.h"

namespace memtrace::rollup {

LedgerBlock* Live::find(std::uint64_t address, std::uint8_t memory, unsigned table) {
  if (used_ == 0) return nullptr;
  const std::uint32_t mask = slots_.capacity - 1;
  for (std::uint32_t at = start(address, memory, table); slots_.at[at].state != 0; at = (at + 1) & mask) {
    LedgerBlock& block = slots_.at[at];
    if (block.address == address && block.memory == memory && table_of(block.kind) == table) return &block;
  }
  return nullptr;
}

void Live::put(const LedgerBlock& block) {
  const std::uint32_t mask = slots_.capacity - 1;
  std::uint32_t at = start(block);
  while (slots_.at[at].state != 0) at = (at + 1) & mask;
  slots_.at[at] = block;
}

// Spreads the blocks of the first `before` slots over all slots. The order is that of the probes, and it begins
// after an empty slot. So in its half, each block goes to its old place or to an earlier one. It never goes
// past a block that has yet to move.
void Live::spread(std::uint32_t before) {
  std::uint32_t empty = 0;
  while (slots_.at[empty].state != 0) ++empty;
  for (std::uint32_t i = 1; i < before; ++i) {
    LedgerBlock& slot = slots_.at[(empty + i) & (before - 1)];
    if (slot.state == 0) continue;
    const LedgerBlock block = slot;
    slot.state = 0;
    put(block);
  }
}

bool Live::grow(const Host& host) {
  const std::uint32_t before = slots_.capacity;
  if (!slots_.grow(host, kFirst, kMost)) return false;
  if (before != 0) spread(before);
  return true;
}

bool Live::add(const Host& host, const LedgerBlock& block) {
  if (used_ >= slots_.capacity / 4 * 3 && !grow(host)) return false;
  put(block);
  ++used_;
  return true;
}

// Removes `block`. The blocks behind it move up, so the table needs no tombstones.
void Live::erase(LedgerBlock* block) {
  const std::uint32_t mask = slots_.capacity - 1;
  auto hole = static_cast<std::uint32_t>(block - slots_.at);
  for (std::uint32_t at = (hole + 1) & mask; slots_.at[at].state != 0; at = (at + 1) & mask) {
    const std::uint32_t home = start(slots_.at[at]);
    if (((at - home) & mask) < ((at - hole) & mask)) continue; // it would lie before its first slot
    slots_.at[hole] = slots_.at[at];
    hole = at;
  }
  slots_.at[hole].state = 0;
  --used_;
}

} // namespace memtrace::rollup
