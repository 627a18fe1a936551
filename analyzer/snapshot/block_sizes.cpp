// Purpose: the size that PyTorch's allocator gave to a block of which only the requested bytes are known.
#include "analyzer/snapshot/block_sizes.h"

#include <algorithm>

#include "preload/format/block_rules.h"

namespace memtrace::snapshot {
namespace {

// As in PyTorch's allocator since 1.5.
constexpr std::uint64_t kRounding = 512;
constexpr std::uint64_t kSmallSegment = 2 << 20;   // bytes of each segment for small blocks
constexpr std::uint64_t kLeastLargeRest = 1 << 20; // a free large block is split if more than this is left

} // namespace

std::uint64_t rounded_request(std::uint64_t requested) {
  if (requested > ~std::uint64_t{0} - kRounding) return requested;
  return std::max(kRounding, (requested + kRounding - 1) / kRounding * kRounding);
}

std::uint64_t BlockSizes::of(std::uint64_t address, std::uint64_t requested) const {
  const std::uint64_t least = rounded_request(requested);
  auto segment = segments_.upper_bound(address);
  if (segment == segments_.begin()) return least;
  --segment;
  std::uint64_t end = format::end_of(segment->first, segment->second);
  if (const auto next = used_.upper_bound(address); next != used_.end()) end = std::min(end, next->first);
  if (end < address || end - address <= least) return least;
  const std::uint64_t rest = end - address - least;
  const bool splits =
      segment->second == kSmallSegment ? rest >= kRounding : rest > kLeastLargeRest && least < max_split_;
  return splits ? least : end - address;
}

} // namespace memtrace::snapshot
