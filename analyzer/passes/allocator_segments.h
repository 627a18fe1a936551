// Purpose: how full the segments of a framework's caching allocator were at an instant, and what kept them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

// Memory that the driver gave at once, and from which the allocator cuts its blocks.
struct AllocatorSegment {
  std::uint64_t bytes = 0;
  std::uint64_t in_blocks = 0; // of them in blocks that somebody holds
  std::uint64_t blocks = 0;
  format::StackId holder{}; // of its largest block: while one is held the whole segment stays
  NameId holder_phase = NameId::other;
  Step holder_step = Step::none;

  std::uint64_t unused() const { return bytes - in_blocks; }
};

// Of one device at one instant. What is in no segment lies in pages that are mapped one by one (expandable
// segments): which of these are empty is not in the trace, only how many bytes they are.
struct Segments {
  std::vector<AllocatorSegment> each; // most unused first
  std::uint64_t bytes = 0;   // of all of them
  std::uint64_t in_blocks = 0;
  std::uint64_t outside = 0; // bytes of blocks in no segment
};

// One pass for all instants, each after event `at`. A segment is what a block was ever cut from: after a gap
// between windows that is one with a block in it.
using DeviceInstant = std::pair<MemoryId, trace::Ordinal>;
std::map<DeviceInstant, Segments> segments_at(const trace::Trace& trace,
                                              const std::set<DeviceInstant>& instants);

} // namespace memtrace::replay
