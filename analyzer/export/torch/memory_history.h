// Purpose: the allocations of one memory up to an instant, in the terms of PyTorch's memory snapshots.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/attribute/peak_composition.h"

namespace memtrace::report {

enum class HistoryAction : std::uint8_t { segment_alloc, segment_free, alloc, free_requested, free_completed };

struct HistoryEvent {
  HistoryAction action = HistoryAction::alloc;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  format::StackId stack{};
  format::Stamp stamp = 0;
};

struct PlacedBlock {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  format::StackId stack{};
};

// Memory that the allocator has from the driver. On the host, and of a block outside of all segments, the
// segment is the block itself.
struct PlacedSegment {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  format::StackId stack{};
  std::vector<PlacedBlock> blocks; // by address; disjoint, and inside the segment
};

struct HistoryEnd {
  std::vector<PlacedSegment> segments; // by address
  std::uint64_t bytes = 0;             // of all blocks
  std::uint64_t events = 0;
};

// Gives the events of a memory until just after event `until` to `take`, without the first `skipped`.
// Measure::tensor: of tensors. Measure::live: of all recorded blocks. Sampled blocks and blocks of 0 bytes are
// left out.
HistoryEnd memory_history(const trace::Trace& trace, replay::MemoryId memory, replay::Measure measure,
                          trace::Ordinal until, std::uint64_t skipped,
                          const std::function<void(const HistoryEvent&)>& take);

} // namespace memtrace::report
