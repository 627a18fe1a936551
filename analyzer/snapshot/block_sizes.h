// Purpose: the size that PyTorch's allocator gave to a block of which only the requested bytes are known.
#pragma once

#include <cstdint>
#include <map>

namespace memtrace::snapshot {

// Returns the least bytes of a block for a request.
std::uint64_t rounded_request(std::uint64_t requested);

// Follows one device. The allocator rounds a request up, takes a free block, and gives all of it if the rest
// would be too small for a block. Between two used blocks of a segment there is one free block.
class BlockSizes {
 public:
  explicit BlockSizes(std::uint64_t max_split) : max_split_(max_split) {}

  void segment(std::uint64_t address, std::uint64_t bytes) { segments_[address] = bytes; }
  void segment_gone(std::uint64_t address) { segments_.erase(address); }
  void used(std::uint64_t address, std::uint64_t bytes) { used_[address] = bytes; }
  void free_again(std::uint64_t address) { used_.erase(address); }

  // Returns the size of a new block, which is not used yet.
  std::uint64_t of(std::uint64_t address, std::uint64_t requested) const;

 private:
  std::uint64_t max_split_;
  std::map<std::uint64_t, std::uint64_t> segments_; // bytes by address; without expandable segments
  std::map<std::uint64_t, std::uint64_t> used_;     // bytes by address
};

} // namespace memtrace::snapshot
