// Purpose: the blocks that were born and that ended, from which the next addresses follow.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace memtrace::columns {

struct BornBlock {
  std::uint64_t address;
  std::uint64_t given; // bytes
  std::uint16_t flags;
  std::uint8_t kind;
};

// An allocator mostly gives the block of a size that was freed last. A block mostly ends as many births after
// its own as the last time. So an address is coded as a small number.
class BlockHistory {
 public:
  static constexpr std::size_t kBirths = 1 << 18; // how many births back a block is known
  static constexpr std::size_t kFreed = 64;       // how many freed blocks of a size are known

  // Only a writer searches by address.
  explicit BlockHistory(bool by_address) : numbers_(by_address ? kFirstNumbers : 0) {}

  void born(const BornBlock& birth);
  // Returns how many births ago the block at this address was born, at least 1. Returns 0 if it is not known.
  std::uint64_t births_since(std::uint64_t address) const;
  // Returns the block that was born so many births ago, or null if it is not known. Valid until born().
  const BornBlock* birth(std::uint64_t births_ago) const;

  void freed(const BornBlock& birth);
  // Returns how many blocks of this size were freed after the one at this address. Returns nullopt if it is not
  // known.
  std::optional<std::size_t> freed_after(std::uint64_t given, std::uint64_t address) const;
  // Returns the address of the block of this size after which so many others were freed, and forgets it.
  // Returns nullopt if there is none.
  std::optional<std::uint64_t> take_freed(std::uint64_t given, std::size_t after);

 private:
  static constexpr std::size_t kSizes = 1024;
  static std::size_t place_of(std::uint64_t given) { return given * 0x9E3779B97F4A7C15u >> 54; }
  static constexpr std::size_t kFirstNumbers = 1 << 10;
  std::size_t slot_of(std::uint64_t address) const {
    return (address * 0x9E3779B97F4A7C15u >> 32) & (numbers_.size() - 1);
  }
  void index(std::uint64_t births);

  std::vector<BornBlock> births_;
  std::uint64_t count_ = 0;            // of births
  std::vector<std::uint32_t> numbers_; // of births, modulo 2^32, by address; twice as many as births are known
  std::array<std::vector<std::uint64_t>, kSizes> freed_;
  static_assert(kSizes == 1 << (64 - 54));
};

} // namespace memtrace::columns
