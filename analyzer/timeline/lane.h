// Purpose: the curves of a timeline: one for each memory and measure.
#pragma once

#include <vector>

#include "analyzer/attribute/peak_composition.h"

namespace memtrace::replay {

struct Lane {
  MemoryId memory = 0;
  Measure measure = Measure::live;
  bool operator==(const Lane&) const = default;
};

inline std::int64_t level_of(const Lane& lane, const LiveBlocks& ledger) {
  const Level& level = ledger.level(lane.memory);
  return lane.measure == Measure::tensor ? level.tensor : level.live;
}

// Returns the bytes by which a block raises the level of a lane. A sampled block is in no level.
inline std::uint64_t bytes_in(const Lane& lane, const Block& block) {
  if (block.memory != lane.memory || block.sampled) return 0;
  if (lane.measure == Measure::tensor) return block.tensor_bytes();
  return block.counted ? block.given : 0;
}

} // namespace memtrace::replay
