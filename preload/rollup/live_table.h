// Purpose: the live blocks, by address: one or two probes for each birth and death.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include <initializer_list>

#include "preload/rollup/block.h"

namespace memtrace::rollup {

// Most blocks die soon, and the allocator gives their addresses again. So a block first has a place in a small
// table for young blocks. It moves to the table of old blocks if a younger block needs its place. In a training
// run that recorded every block, the table of old blocks had 48 MiB. Each probe there waited for memory.
class Live {
 public:
  // The table of old blocks doubles if three quarters of its slots are used: 64 to 128 bytes for each block. It
  // holds at most 3 million blocks, in 192 MiB.
  static constexpr std::uint32_t kFirst = 1u << 10;
  static constexpr std::uint32_t kMost = 1u << 22;
  // The table of young blocks has a quarter as many places, but at most 32 Ki. In training steps that record
  // every block, 94 % of the births and 99 % of the deaths need no other place.
  static constexpr std::uint32_t kFirstYoung = kFirst / 4;
  static constexpr std::uint32_t kMostYoung = 1u << 15;

  // Returns the table of a kind. Blocks of different tables may share an address: a tensor inside a driver's
  // segment, or a registered heap block.
  static unsigned table_of(std::uint8_t kind) {
    const auto is = static_cast<format::Kind>(kind);
    return is == format::Kind::none ? 1 : is == format::Kind::registered ? 2 : 0;
  }
  static constexpr unsigned kTables = 3;

  LedgerBlock* find(std::uint64_t address, std::uint8_t memory, unsigned table);
  // expect_young() prefetches the young place of a block. Call expect_old() some records later: it prefetches
  // the first old slot if the young place has another address. always_inline: gcc 12 removes calls of a
  // function that only prefetches.
  [[gnu::always_inline]] void expect_young(std::uint64_t address, std::uint8_t memory, unsigned table) const {
    if (young_.capacity >= kLeastPrefetched) prefetch(young_place(hash(address, memory, table)));
  }
  [[gnu::always_inline]] void expect_old(std::uint64_t address, std::uint8_t memory, unsigned table) const {
    if (old_.capacity < kLeastPrefetched) return;
    const std::uint32_t hashed = hash(address, memory, table);
    if (young_place(hashed).address != address) prefetch(old_.at[hashed & (old_.capacity - 1)]);
  }
  // Adds a block that is not in the table. Returns false if there is no room. Moves other blocks.
  bool add(const Host& host, const LedgerBlock& block);
  void erase(LedgerBlock* block);

  template <class Take>
  void each(Take take) {
    for (const Growing<LedgerBlock>* const places : {&young_, &old_})
      for (std::uint32_t i = 0; i < places->capacity; ++i)
        if (places->at[i].state != 0) take(places->at[i]);
  }
  std::uint32_t size() const { return young_used_ + old_used_; }
  std::size_t bytes() const { return young_.bytes() + old_.bytes(); }

 private:
  static constexpr std::uint32_t kLeastPrefetched = 1u << 11; // a smaller table is in the CPU's cache

  static std::uint32_t hash(std::uint64_t address, std::uint8_t memory, unsigned table) {
    return static_cast<std::uint32_t>(mix(address >> 4, memory * kTables + table));
  }
  static std::uint32_t hash(const LedgerBlock& block) {
    return hash(block.address, block.memory, table_of(block.kind));
  }
  static bool has_key(const LedgerBlock& block, std::uint64_t address, std::uint8_t memory, unsigned table) {
    return block.address == address && block.memory == memory && table_of(block.kind) == table;
  }
  [[gnu::always_inline]] static void prefetch(const LedgerBlock& block) {
    __builtin_prefetch(&block);
    __builtin_prefetch(&block.state); // may be in the next cache line
  }
  LedgerBlock& young_place(std::uint32_t hashed) const { return young_.at[hashed & (young_.capacity - 1)]; }
  LedgerBlock* find_old(std::uint32_t hashed, std::uint64_t address, std::uint8_t memory, unsigned table);
  void put_old(const LedgerBlock& block);
  void erase_old(LedgerBlock* block);
  void spread_young(std::uint32_t before);
  void spread_old(std::uint32_t before);
  bool grow(const Host& host);

  // A free place has the key of the block that died there. No old block has that key. A place that never had a
  // block is zero.
  Growing<LedgerBlock> young_;
  Growing<LedgerBlock> old_;
  std::uint32_t young_used_ = 0;
  std::uint32_t old_used_ = 0;
};

} // namespace memtrace::rollup
