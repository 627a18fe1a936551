// Purpose: describes unused memory of a device's allocator, and device memory outside of all allocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/attribute/device_usage.h"
#include "analyzer/explain/process_analysis.h"
#include "analyzer/passes/allocator_segments.h"

namespace memtrace::report {

// Unused bytes in the segments at the peak of `reserved`, by what blocks their release.
struct Unused {
  std::uint64_t kept = 0; // in segments with a block, which keeps the segment
  std::size_t keeping = 0;
  std::uint64_t empty = 0; // in segments without a block: cached whole
  std::size_t empties = 0;
  std::uint64_t sum() const { return kept + empty; }
};
Unused unused_of(const replay::Segments& segments);
std::string in_words(
    const Unused& unused); // "3816.00 MiB in 9 segments beside blocks, 20.00 MiB in 1 empty segment"

// Returns "context 480.00 MiB, code 20.00 MiB, local memory and the rest 0.00 MiB: an estimate".
std::string divided(const replay::DeviceUsage& gpu);

// Returns why the most that a GPU used is not known: "it was not asked while 512.00 MiB were allocated, 3.1 s
// later". Returns nullopt if the GPU was asked while most was live.
std::optional<std::string> why_use_is_unknown(const ProcessAnalysis& analysis, replay::MemoryId memory);

} // namespace memtrace::report
