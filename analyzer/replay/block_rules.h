// Purpose: how blocks and mappings are read from an event: the rules that both share.
#pragma once

#include "analyzer/replay/block.h"
#include "preload/format/block_rules.h"

namespace memtrace::replay {

inline MemoryId memory_of(const trace::Event& event) {
  return static_cast<MemoryId>(event.flags >> format::kMemoryShift);
}

using format::end_of;
using format::grow;
using format::is_mapping;
using format::is_memory;
using format::shrink;

// Sets address, size and site of a block to those of an event.
template <class Fields>
void describe(Block& block, const Fields& fields) {
  block.address = fields.address;
  block.given = fields.given;
  block.asked = fields.asked;
  block.stack = fields.stack;
}

// Makes `block` the one that a birth or a record of a snapshot describes. Sets each field where the block lies:
// a copy of a block that was just set waits for its stores.
template <class Fields>
void set_block(Block& block, const trace::Event& event, const PhasePosition& place) {
  static_assert(sizeof(Block) == 96, "a new field keeps the value of a dead block until it is set here");
  const bool sampled = (event.flags & format::kSampled) != 0;
  describe(block, event.as<Fields>());
  block.kind = event.kind;
  block.memory = memory_of(event);
  block.tensor = !sampled && (event.flags & format::kTensor) != 0;
  block.counted = !sampled && is_memory(event.kind) && (event.flags & format::kNoAccess) == 0;
  block.sampled = sampled;
  block.locked = false;
  block.label = Role::unknown;
  block.name = block.module = format::TextId{};
  block.born = place;
  block.birth = event.ordinal;
  block.birth_stamp = event.stamp;
}

// Returns the block that a birth or a record of a snapshot describes.
template <class Fields>
Block block_of(const trace::Event& event, const PhasePosition& place) {
  Block block;
  set_block<Fields>(block, event, place);
  return block;
}

} // namespace memtrace::replay
