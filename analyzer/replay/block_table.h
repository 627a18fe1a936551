// Purpose: blocks by memory and address. A lookup reads one or two cache lines, and no block has its own
// allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace memtrace::replay {

// A hash table with linear probing over small cells. The values are in a separate pool and move only if the
// pool grows. With std::unordered_map, half of the time of a replay went to the map and its allocations.
template <typename Block>
class BlockTable {
 public:
  BlockTable() { clear(); }

  void clear() {
    cells_.assign(kFewest, Cell{});
    pool_.clear();
    free_.clear();
    size_ = 0;
  }

  // Returns null if there is no block. Valid until the next insert.
  Block* find(std::uint8_t memory, std::uint64_t address) {
    const std::size_t at = search(memory, address);
    return cells_[at].slot == kEmpty ? nullptr : &pool_[cells_[at].slot];
  }

  // Loads the cell of this address into the cache.
  void expect(std::uint8_t memory, std::uint64_t address) const {
    __builtin_prefetch(&cells_[home(memory, address)]);
  }

  // Returns the block at this address, and true if it is new. If it is not new, `block` was not inserted.
  std::pair<Block*, bool> insert(std::uint8_t memory, std::uint64_t address, const Block& block) {
    const std::pair<Block*, bool> out = place_for(memory, address);
    if (out.second) *out.first = block;
    return out;
  }

  // Like insert(). If the block is new, the caller sets all of it.
  std::pair<Block*, bool> place_for(std::uint8_t memory, std::uint64_t address) {
    if ((size_ + 1) * 2 > cells_.size()) grow();
    const std::size_t at = search(memory, address);
    if (cells_[at].slot != kEmpty) return {&pool_[cells_[at].slot], false};
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(pool_.size());
      pool_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    cells_[at] = {address, slot, memory};
    ++size_;
    return {&pool_[slot], true};
  }

  // Removes the block at this address and returns it. Returns null if there is none. The pointer is valid until
  // the next insert.
  const Block* take(std::uint8_t memory, std::uint64_t address) {
    return take_if(memory, address, [](const Block&) { return true; });
  }
  // Like take(), but removes only a block for which `fits` returns true.
  template <typename Fits>
  const Block* take_if(std::uint8_t memory, std::uint64_t address, Fits fits) {
    const std::size_t at = search(memory, address);
    const std::uint32_t slot = cells_[at].slot;
    if (slot == kEmpty || !fits(pool_[slot])) return nullptr;
    free_.push_back(slot);
    --size_;
    close(at);
    return &pool_[slot];
  }

  // Visits the blocks in the order of the cells. The order is equal in all passes with equal changes.
  template <typename Take>
  void each(Take take) const {
    for (const Cell& cell : cells_) {
      if (cell.slot != kEmpty) take(pool_[cell.slot]);
    }
  }

  std::size_t size() const { return size_; }
  std::size_t bytes() const { // of memory that a copy takes, about
    return cells_.size() * sizeof(Cell) + pool_.size() * sizeof(Block) + free_.size() * sizeof free_[0];
  }

 private:
  static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};
  static constexpr std::size_t kFewest = 64;
  struct Cell {
    std::uint64_t address = 0;
    std::uint32_t slot = kEmpty;
    std::uint8_t memory = 0;
  };

  std::size_t home(std::uint8_t memory, std::uint64_t address) const {
    return (address >> 4 ^ memory) * 0x9E3779B97F4A7C15u >> 32 & (cells_.size() - 1);
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (cells_.size() - 1); }

  // Returns the cell of the block, or the empty cell where it would be put.
  std::size_t search(std::uint8_t memory, std::uint64_t address) const {
    std::size_t at = home(memory, address);
    while (cells_[at].slot != kEmpty && (cells_[at].address != address || cells_[at].memory != memory))
      at = next(at);
    return at;
  }

  // Fills the gap with cells that were pushed past it, so that a search may end at the first empty cell.
  void close(std::size_t gap) {
    for (std::size_t at = next(gap); cells_[at].slot != kEmpty; at = next(at)) {
      const std::size_t mask = cells_.size() - 1;
      const std::size_t pushed = (at - home(cells_[at].memory, cells_[at].address)) & mask;
      if (pushed < ((at - gap) & mask)) continue; // its home is after the gap
      cells_[gap] = cells_[at];
      gap = at;
    }
    cells_[gap].slot = kEmpty;
  }

  void grow() {
    const std::vector<Cell> old = std::exchange(cells_, std::vector<Cell>(cells_.size() * 2));
    for (const Cell& cell : old) {
      if (cell.slot == kEmpty) continue;
      cells_[search(cell.memory, cell.address)] = cell;
    }
  }

  std::vector<Cell> cells_; // their number is a power of two
  std::vector<Block> pool_;
  std::vector<std::uint32_t> free_; // slots of the pool
  std::size_t size_ = 0;
};

} // namespace memtrace::replay
