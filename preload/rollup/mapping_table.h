// Purpose: the mappings as disjoint intervals in order of address: mappings die, move and open in parts.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/rollup/block.h"

namespace memtrace::rollup {

class Mappings {
 public:
  static constexpr std::uint32_t kFirst = 256;
  static constexpr std::uint32_t kMost = 64 * 1024; // 3 MiB; Linux allows a process 65,530

  // Returns the index of the first mapping that ends above `address`: the mapping at `address`, or the next
  // one.
  std::uint32_t from(std::uint8_t memory, std::uint64_t address) const;
  // Adds a mapping where nothing is mapped. Returns false if there is no room.
  bool add(const Host& host, const LedgerBlock& block);
  void erase(std::uint32_t i);
  // Splits the mapping that `address` lies inside. Without room for two, it stays one mapping.
  void split(const Host& host, std::uint8_t memory, std::uint64_t address);

  LedgerBlock& operator[](std::uint32_t i) { return all_.at[i]; }
  const LedgerBlock& operator[](std::uint32_t i) const { return all_.at[i]; }
  std::uint32_t size() const { return used_; }
  std::size_t bytes() const { return all_.bytes(); }

 private:
  bool open(const Host& host, std::uint32_t i);

  Growing<LedgerBlock> all_;
  std::uint32_t used_ = 0;
};

} // namespace memtrace::rollup
