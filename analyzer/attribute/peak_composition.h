// Purpose: the second pass: exactly which blocks were alive at given instants, and the role of each block.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "analyzer/attribute/keyframes.h"
#include "analyzer/attribute/reservations.h"
#include "analyzer/replay/replay.h"
#include "analyzer/replay/roles.h"

namespace memtrace::replay {

enum class Measure : std::uint8_t { live, tensor };

// An instant to examine: just after event `at`.
struct Instant {
  MemoryId memory = 0;
  Measure measure = Measure::live;
  trace::Ordinal at = 0;
  bool operator<(const Instant& other) const {
    return std::tie(memory, measure, at) < std::tie(other.memory, other.measure, other.at);
  }
};

// Blocks that were alive at an instant and have the properties below in common.
struct Holding {
  std::uint64_t bytes = 0; // of the measure
  std::uint64_t asked = 0;
  std::uint64_t blocks = 0;
  std::uint64_t largest = 0; // bytes of the largest block
  format::Kind kind = format::Kind::none;
  Role role = Role::unknown;
  bool tensor = false;
  format::StackId stack{}; // 0: the trace has no stack of these blocks
  NameId born_phase = NameId::other;
  KnownPhase born_known = KnownPhase::none;
  Step born_step = Step::none;
  std::uint64_t lifetime = 0;  // ns, the median; a block that survived counts until the end of the trace
  bool sampled = false;        // bytes, asked and blocks are unbiased estimates
  std::uint64_t resident = 0;  // bytes that were in memory; a block without a scan counts in full
  std::uint64_t untouched = 0; // bytes of reservations that were never touched; see reservations.h
  // the part of `resident` that came later than the rest, in late_phase and late_step
  std::uint64_t late = 0;
  NameId late_phase = NameId::other; // of the block with the most late bytes
  Step late_step = Step::none;
  std::uint64_t error =
      // Of an estimate: half the width of the interval that contains `bytes` in 95 of 100 cases.
      0;
  format::TextId name{};        // of its label: "exp_avg"; only of buffers of optimizers and engines, of NCCL
  format::Stamp born_stamp = 0; // of the block that was made first
  // Of a model: one that stands for all modules of its pattern (module_patterns.h), and those of the blocks,
  // ascending. 0: none.
  format::TextId module{};
  std::vector<format::TextId> modules;
  const char* made_as = ""; // "DeepSpeed swap buffer", "cuBLAS"; "" if its role tells all
};

// Largest first. The other properties order ties, so every run gives one order.
using Holdings = std::vector<Holding>;

// Returns the bytes of reservations that were never touched.
std::uint64_t untouched(const Holdings& alive);

// Returns the blocks that were alive at each instant, by one pass. Memory grows with live blocks, and with
// instants times distinct sites. `last_step`: the last step of the trace, known from the first pass. Roles need
// it. If `reserved` is not null, adds the reservations of the whole trace to it.
std::map<Instant, Holdings> alive_at(const trace::Trace& trace, const std::vector<Instant>& instants,
                                     Step last_step, Reservations* reserved = nullptr);

// Returns the same, but replays only from the keyframe before each instant to the next one.
std::map<Instant, Holdings> alive_at(const trace::Trace& trace, const Keyframes& keyframes,
                                     const std::vector<Instant>& instants, Step last_step);

} // namespace memtrace::replay
