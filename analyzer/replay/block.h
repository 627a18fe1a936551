// Purpose: one allocation that is alive, and the levels of a memory.
#pragma once

#include <cstdint>

#include "analyzer/replay/phase_position.h"
#include "analyzer/replay/roles.h"
#include "analyzer/trace/event_merger.h"

namespace memtrace::replay {

using MemoryId = std::uint8_t; // 0 host, n device n-1

// Bytes of one memory. Below 0 only if the trace lost births.
struct Level {
  std::int64_t live = 0;
  std::int64_t tensor = 0;
  bool operator==(const Level&) const = default;
};

// One allocation, or the rest of it: a mapping may be unmapped in parts.
struct Block {
  std::uint64_t address = 0;
  std::uint64_t given = 0; // bytes
  std::uint64_t asked = 0; // bytes
  format::StackId stack{};
  format::Kind kind = format::Kind::none;
  MemoryId memory = 0;
  bool tensor = false;
  bool counted = false; // it counts in `live`
  bool sampled = false; // a sampled small block: the flows have its bytes, so it is not in any level
  bool locked = false;  // its pages were locked after it was made: registered with CUDA, or by mlock
  Role label = Role::unknown;
  format::TextId name{};   // of its label; 0: none
  format::TextId module{}; // of a model, that made it or that it belongs to; 0: none
  PhasePosition born;
  trace::Ordinal birth = 0;
  format::Stamp birth_stamp = 0;

  std::uint64_t tensor_bytes() const { return !tensor ? 0 : asked != 0 ? asked : given; }
  // Returns the bytes that PyTorch's pinned allocator took beyond the request.
  std::uint64_t spare() const {
    return kind == format::Kind::pinned && asked != 0 && asked < given ? given - asked : 0;
  }
};

} // namespace memtrace::replay
