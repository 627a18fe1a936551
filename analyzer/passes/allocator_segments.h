// Purpose: how full the segments of a framework's caching allocator were at an instant, and which blocks kept
// them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

// Memory that the driver returned at once. The allocator divides it into blocks.
struct AllocatorSegment {
  std::uint64_t bytes = 0;
  std::uint64_t in_blocks = 0; // bytes in blocks that are in use
  std::uint64_t blocks = 0;
  // stack of its largest block; the allocator cannot release the segment while it has a block
  format::StackId holder{};
  NameId holder_phase = NameId::other;
  Step holder_step = Step::none;

  std::uint64_t unused() const { return bytes - in_blocks; }
};

// The segments of one device at one instant. Blocks in no segment lie in pages that are mapped one by one
// (expandable segments). The trace has the total of these pages, but not which of them are empty.
struct Segments {
  std::vector<AllocatorSegment> each; // most unused first
  std::uint64_t bytes = 0;            // of all segments
  std::uint64_t in_blocks = 0;
  std::uint64_t outside = 0; // bytes of blocks in no segment
};

// Returns the segments at each instant, after the event with that ordinal, in one pass. Memory is a segment
// once a block was cut from it. After a gap between windows, that is memory with a block in it.
using DeviceInstant = std::pair<MemoryId, trace::Ordinal>;
std::map<DeviceInstant, Segments> segments_at(const trace::Trace& trace,
                                              const std::set<DeviceInstant>& instants);

} // namespace memtrace::replay
