// Purpose: the bands of a timeline: few enough groups of roles that each has a colour of its own.
#pragma once

#include <cstdint>

#include "analyzer/attribute/holding_group.h"

namespace memtrace::replay {

// From the bottom of a timeline to its top.
enum class Band : std::uint8_t {
  parameter,
  gradient,
  optimizer_state,
  activation,
  temporary,
  communication,
  input,
  runtime, // blocks that are not tensors and have no role
  context,
  cache,        // of a GPU: what PyTorch's allocator holds, less its tensors
  reserved,     // of the host: address space that was never touched
  unattributed, // blocks without a record of their own, and tensors without a role
};
inline constexpr std::size_t kBands = static_cast<std::size_t>(Band::unattributed) + 1;

// The names that the page and its legend use.
inline constexpr const char* kBandNames[kBands] = {
    "parameter", "gradient", "optimizer state", "activation", "temporary", "communication",
    "input",     "runtime",  "context",         "cache",      "reserved",  "unattributed"};

// `tensors`: the memory of the group had tensors. Then its other blocks without a role are segments of
// PyTorch's allocator, if the memory is a GPU's.
Band band_of(const HoldingGroup& group, bool device, bool tensors);

} // namespace memtrace::replay
