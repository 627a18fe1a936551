// Purpose: the live blocks, by address: one or two probes for each birth and death.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/rollup/block.h"

namespace memtrace::rollup {

class Live {
 public:
  // The table doubles if three quarters of its slots are used: 64 to 128 bytes for each block. It holds at most
  // 3 million blocks, in 192 MiB.
  static constexpr std::uint32_t kFirst = 1u << 12;
  static constexpr std::uint32_t kMost = 1u << 22;

  // Returns the table of a kind. Blocks of different tables may share an address: a tensor inside a driver's
  // segment, or a registered heap block.
  static unsigned table_of(std::uint8_t kind) {
    const auto is = static_cast<format::Kind>(kind);
    return is == format::Kind::none ? 1 : is == format::Kind::registered ? 2 : 0;
  }
  static constexpr unsigned kTables = 3;

  LedgerBlock* find(std::uint64_t address, std::uint8_t memory, unsigned table);
  // Prefetches the slot of a block that is needed soon. always_inline: gcc 12 takes a function that only
  // prefetches for one that does nothing.
  [[gnu::always_inline]] void expect(std::uint64_t address, std::uint8_t memory, unsigned table) const {
    if (slots_.capacity == 0) return;
    const LedgerBlock* const block = &slots_.at[start(address, memory, table)];
    __builtin_prefetch(block);
    __builtin_prefetch(&block->state); // may be in the next cache line
  }
  // Adds a block that is not in the table. Returns false if there is no room.
  bool add(const Host& host, const LedgerBlock& block);
  void erase(LedgerBlock* block);

  template <class Take>
  void each(Take take) {
    for (std::uint32_t i = 0; i < slots_.capacity; ++i)
      if (slots_.at[i].state != 0) take(slots_.at[i]);
  }
  std::uint32_t size() const { return used_; }
  std::size_t bytes() const { return slots_.bytes(); }

 private:
  std::uint32_t start(std::uint64_t address, std::uint8_t memory, unsigned table) const {
    return static_cast<std::uint32_t>(mix(address >> 4, memory * kTables + table)) & (slots_.capacity - 1);
  }
  std::uint32_t start(const LedgerBlock& block) const {
    return start(block.address, block.memory, table_of(block.kind));
  }
  void put(const LedgerBlock& block);
  void spread(std::uint32_t before);
  bool grow(const Host& host);

  Growing<LedgerBlock> slots_;
  std::uint32_t used_ = 0;
};

} // namespace memtrace::rollup
