// Room: coarse. Runs in the drain and, when its ring is full, on the victim's thread.
// Job: the blocks that are alive, by address: one probe or two for each birth and death.
#include "coarse/live.h"

namespace memtrace::coarse {

Block* Live::find(std::uint64_t address, std::uint8_t memory, unsigned table) {
  if (used_ == 0) return nullptr;
  const std::uint32_t mask = slots_.capacity - 1;
  for (std::uint32_t at = start(address, memory, table); slots_.at[at].state != 0; at = (at + 1) & mask) {
    Block& block = slots_.at[at];
    if (block.address == address && block.memory == memory && table_of(block.kind) == table) return &block;
  }
  return nullptr;
}

void Live::put(const Block& block) {
  const std::uint32_t mask = slots_.capacity - 1;
  std::uint32_t at = start(block);
  while (slots_.at[at].state != 0) at = (at + 1) & mask;
  slots_.at[at] = block;
}

bool Live::grow(const Host& host) {
  const Growing<Block> before = slots_;
  const std::uint32_t wanted = before.capacity == 0 ? kFirst : before.capacity * 2;
  if (wanted > kMost) return false;
  auto* const memory = static_cast<Block*>(host.map(wanted * sizeof(Block)));
  if (memory == nullptr) return false;
  slots_ = {memory, wanted};
  for (std::uint32_t i = 0; i < before.capacity; ++i)
    if (before.at[i].state != 0) put(before.at[i]);
  if (before.at != nullptr) host.unmap(before.at, before.bytes());
  return true;
}

bool Live::add(const Host& host, const Block& block) {
  if (used_ >= slots_.capacity / 4 * 3 && !grow(host)) return false;
  put(block);
  ++used_;
  return true;
}

// Those behind it move up, so that no grave is left.
void Live::erase(Block* block) {
  const std::uint32_t mask = slots_.capacity - 1;
  auto hole = static_cast<std::uint32_t>(block - slots_.at);
  for (std::uint32_t at = (hole + 1) & mask; slots_.at[at].state != 0; at = (at + 1) & mask) {
    const std::uint32_t home = start(slots_.at[at]);
    if (((at - home) & mask) < ((at - hole) & mask)) continue; // it would come before its home
    slots_.at[hole] = slots_.at[at];
    hole = at;
  }
  slots_.at[hole].state = 0;
  --used_;
}

} // namespace memtrace::coarse
