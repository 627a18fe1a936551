// Purpose: the mappings as disjoint intervals in order of address: mappings die, move and open in parts.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/mapping_table.h"

namespace memtrace::rollup {

std::uint32_t Mappings::from(std::uint8_t memory, std::uint64_t address) const {
  std::uint32_t low = 0, high = used_;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    const LedgerBlock& block = all_.at[middle];
    const bool before =
        block.memory != memory ? block.memory < memory : end_of(block.address, block.given) <= address;
    if (before) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool Mappings::open(const Host& host, std::uint32_t i) {
  if (used_ == all_.capacity && !all_.grow(host, kFirst, kMost)) return false;
  std::memmove(all_.at + i + 1, all_.at + i, (used_ - i) * sizeof(LedgerBlock));
  ++used_;
  return true;
}

bool Mappings::add(const Host& host, const LedgerBlock& block) {
  const std::uint32_t i = from(block.memory, block.address);
  if (!open(host, i)) return false;
  all_.at[i] = block;
  return true;
}

void Mappings::erase(std::uint32_t i) {
  --used_;
  std::memmove(all_.at + i, all_.at + i + 1, (used_ - i) * sizeof(LedgerBlock));
}

void Mappings::split(const Host& host, std::uint8_t memory, std::uint64_t address) {
  const std::uint32_t i = from(memory, address);
  if (i == used_ || all_.at[i].memory != memory || all_.at[i].address >= address) return;
  if (!open(host, i + 1)) return;
  LedgerBlock& head = all_.at[i];
  LedgerBlock& tail = all_.at[i + 1];
  tail = head;
  tail.address = address;
  tail.given = head.address + head.given - address;
  tail.asked = tail.given < head.asked ? tail.given : head.asked;
  head.given -= tail.given;
  head.asked = head.given < head.asked ? head.given : head.asked;
}

} // namespace memtrace::rollup
