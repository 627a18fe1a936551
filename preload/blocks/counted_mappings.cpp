// Purpose: remembers the mappings that the rough level counts.
// Runs: inside the program's mmap and munmap.
#include "preload/blocks/counted_mappings.h"

#include <cstddef>

#include "preload/bounded/fork_locks.h"

namespace memtrace::record {
namespace {

struct CountedMapping {
  std::uint64_t address;
  std::uint64_t bytes; // 0: free
};
constexpr std::size_t kMappings = 4096;
constexpr std::size_t kProbes = 16;

constinit SpinLock mappings_lock;
REGISTER_LOCK(mappings_lock, nullptr);
constinit CountedMapping mappings[kMappings] = {};

std::size_t start_of(std::uint64_t address) {
  return (address >> 12) * 0x9E3779B97F4A7C15u >> 52;
}
static_assert(kMappings == 1 << (64 - 52));

CountedMapping* find(std::uint64_t address) {
  for (std::size_t i = 0; i < kProbes; ++i) {
    CountedMapping& mapping = mappings[(start_of(address) + i) % kMappings];
    if (mapping.bytes != 0 && mapping.address == address) return &mapping;
  }
  return nullptr;
}

CountedMapping* find_room(std::uint64_t address) {
  for (std::size_t i = 0; i < kProbes; ++i) {
    CountedMapping& mapping = mappings[(start_of(address) + i) % kMappings];
    if (mapping.bytes == 0) return &mapping;
  }
  return nullptr;
}

} // namespace

std::int64_t count_mapping(std::uint64_t address, std::uint64_t bytes) {
  const Locked locked(mappings_lock);
  if (!locked) return 0;
  CountedMapping* const old = find(address);
  CountedMapping* const mapping = old != nullptr ? old : find_room(address);
  if (mapping == nullptr) return 0;
  const std::uint64_t before = old != nullptr ? old->bytes : 0;
  *mapping = {address, bytes};
  return static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(before);
}

std::int64_t uncount_mapping(std::uint64_t address, std::uint64_t bytes) {
  const Locked locked(mappings_lock);
  if (!locked) return 0;
  CountedMapping* const mapping = find(address);
  if (mapping == nullptr || mapping->bytes != bytes) return 0;
  mapping->bytes = 0;
  return static_cast<std::int64_t>(bytes);
}

} // namespace memtrace::record
