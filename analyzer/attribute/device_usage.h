// Purpose: what a card showed when it showed most, and what of that no allocation accounts for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "analyzer/replay/live_blocks.h"

namespace memtrace::replay {

struct StepSpan { // inclusive
  Step first = Step::none;
  Step last = Step::none;
};

struct Peak {
  std::int64_t bytes = 0;
  trace::Ordinal at = 0;
  format::Stamp stamp = 0;
  PathId path = PathId::other;
  Step step = Step::none;
  std::optional<StepSpan> bucket; // it was in one of these steps, and nobody knows who held it
};

// What is used and nobody allocated, told apart by when it came: with the context, with modules, or between. No
// driver says what it takes for which: each is an estimate, and their sum is the residual.
struct Residual {
  std::int64_t context = 0; // there at the first look
  std::int64_t code = 0;    // came between two looks between which modules were loaded
  std::int64_t rest = 0;    // else: local memory of kernels, streams, handles of libraries
  std::int64_t sum() const;
};

struct DeviceUsage {
  std::optional<Peak> peak;
  bool own = false; // of this process alone; else of all that use the card
  std::uint64_t gpu = format::kNotSaid;
  std::uint64_t total = format::kNotSaid;
  std::uint64_t others_used = format::kNotSaid;
  std::uint64_t code = 0; // bytes of the cubins loaded by then: a lower bound of what the card takes for them
  std::uint32_t others = 0;
  std::int64_t live = 0;
  std::int64_t pools = 0; // held by the driver's pools beside what they gave
  Residual residual;

  // Whether the residual is this process's. A figure of the whole card is where the card names one process,
  // which must be this one, by a pid of another namespace.
  bool alone() const { return own || (others == 1 && others_used != format::kNotSaid); }
};

// Of one device, from one look at the card to the next.
class DeviceTimeline {
 public:
  // Bytes that it shows as used, by this process or else by all. None: it does not say.
  std::optional<std::int64_t> look(const trace::Event& event, const Level& level, const PhasePosition& place);
  // Births, deaths and `reserved`: what the driver's pools gave, and what they hold beyond that.
  void follow(const trace::Event& event);
  void forget(); // before what a window begins with
  const DeviceUsage& most() const { return most_; }

 private:
  std::int64_t pools_spare() const;
  void divide(std::int64_t residual, std::uint64_t code);

  DeviceUsage most_;
  bool looked_ = false;
  Residual residual_;
  std::uint64_t code_ = 0;
  bool framework_ = false; // `reserved` is its allocator's word, not the pools'
  std::int64_t pools_gave_ = 0;
  std::int64_t pools_hold_ = 0;
};

} // namespace memtrace::replay
