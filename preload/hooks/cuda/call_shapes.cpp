// Purpose: the code that the hooks of the CUDA runtime and of the driver share.
// Runs: inside CUDA's calls: call the real function, record, return.
#include "preload/hooks/cuda/call_shapes.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks::cuda {

[[gnu::cold]] void refused(int result, Kind kind, std::size_t asked) {
  if (result != kOutOfMemory && result != kOperatingSystem) return;
  record::Refusal why{static_cast<std::uint32_t>(result)};
  const unsigned memory = memory_of(kind);
  if (memory != 0) memory_left(&why.free, &why.total);
  if (const record::Recording here; here) here.failed({0, 0, asked, kind, 0, memory}, why);
}

std::size_t texels(std::size_t width, std::size_t height, std::size_t depth, unsigned flags) {
  if ((flags & (kSparse | kDeferred)) != 0) return 0;
  return width * (height == 0 ? 1 : height) * (depth == 0 ? 1 : depth);
}

std::size_t texels_of_levels(std::size_t width, std::size_t height, std::size_t depth, unsigned levels,
                             unsigned flags) {
  std::size_t sum = 0;
  for (unsigned level = 0; level < levels && level < 32; ++level) {
    // The number of layers is equal at all levels. A side is at least 1.
    const auto side = [level](std::size_t n) { return n >> level == 0 ? 1 : n >> level; };
    sum += texels(side(width), side(height), (flags & kLayered) != 0 ? depth : side(depth), flags);
  }
  return sum;
}

} // namespace memtrace::hooks::cuda
