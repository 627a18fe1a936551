// Purpose: pages that are mapped but not resident, and how much of a block they are.
// Runs: on the background thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// A window over the address space. A program may have more holes than fit, so they are handled in parts.
class Holes {
 public:
  static constexpr std::size_t kMost = 2048;

  void clear() { used_ = 0; }
  bool full() const { return used_ == kMost; }
  bool empty() const { return used_ == 0; }
  // Adds a hole; holes come in order of address. `heap`: the hole is in the allocator's own pages.
  void add(std::uint64_t start, std::uint64_t end, bool heap);

  struct Overlap {
    std::uint64_t all = 0;
    std::uint64_t heap = 0;
  };
  Overlap within(std::uint64_t start, std::uint64_t end) const;

 private:
  struct Hole {
    std::uint64_t start;
    std::uint64_t end; // lowest bit: `heap`
  };
  static std::uint64_t end_of(const Hole& hole) { return hole.end & ~std::uint64_t{1}; }

  std::size_t used_ = 0;
  Hole holes_[kMost] = {};
};

} // namespace memtrace::record
