// Purpose: the second pass: exactly what was alive at given instants, and what each block was for.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "analyzer/replay/replay.h"
#include "analyzer/replay/roles.h"

namespace memtrace::replay {

enum class Measure : std::uint8_t { live, tensor };

// An instant to look at: just after event `at`.
struct Instant {
  MemoryId memory = 0;
  Measure measure = Measure::live;
  trace::Ordinal at = 0;
  bool operator<(const Instant& other) const {
    return std::tie(memory, measure, at) < std::tie(other.memory, other.measure, other.at);
  }
};

// Blocks alive at an instant that are alike.
struct Holding {
  std::uint64_t bytes = 0; // of the measure
  std::uint64_t asked = 0;
  std::uint64_t blocks = 0;
  std::uint64_t largest = 0; // bytes of the largest block
  format::Kind kind = format::Kind::none;
  Role role = Role::unknown;
  bool tensor = false;
  format::StackId stack{}; // none: the trace has no stack of it
  NameId born_phase = NameId::other;
  KnownPhase born_known = KnownPhase::none;
  Step born_step = Step::none;
  std::uint64_t lifetime = 0;        // ns, the median; of what survived, until the end of the trace
  bool sampled = false;              // bytes, asked and blocks are estimates, unbiased
  std::uint64_t resident = 0;        // bytes that were in memory, as far as the blocks were looked at
  std::uint64_t late = 0;            // of these: came into memory later than the rest, in that phase and step
  NameId late_phase = NameId::other; // of the block that has most of it
  Step late_step = Step::none;
  std::uint64_t error =
      0; // of an estimate: half the width of the interval that holds `bytes` in 95 of 100 cases
};

// Largest first, ties broken by what they are; the same in every run.
using Holdings = std::vector<Holding>;

// One pass for all instants. Memory grows with live blocks, and with instants times distinct sites.
// `last_step` of the trace is known from the first pass: roles need it.
std::map<Instant, Holdings> alive_at(const trace::Trace& trace, const std::vector<Instant>& instants,
                                     Step last_step);

} // namespace memtrace::replay
