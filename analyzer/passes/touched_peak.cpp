// Purpose: the highest level of the host, without address space that was reserved and never touched.
#include "analyzer/passes/touched_peak.h"

#include <algorithm>

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/reservations.h"
#include "analyzer/replay/replay.h"
#include "analyzer/trace/snapshot_events.h"

namespace memtrace::replay {
namespace {

class HighestLevel : public Observer {
 public:
  void born(const Block& block) override { may_reserve = may_reserve || is_reservation(block, 0); }

  void after(const trace::Event& event, const PhasePosition& place) override {
    last_step = place.step;
    if (trace::is_of_snapshot(event.type)) return; // it sets the level before it lists the blocks
    const std::int64_t now = ledger().level(0).live;
    if (now <= bytes) return;
    bytes = now;
    at = event.ordinal;
  }

  std::int64_t bytes = 0;
  trace::Ordinal at = 0;
  Step last_step = Step::none;
  bool may_reserve = false;
};

} // namespace

std::uint64_t touched_peak(const trace::Trace& trace) {
  Replay replay(trace);
  HighestLevel highest;
  replay.run(highest);
  std::uint64_t without = trace.facts().fork ? trace.facts().fork->live : 0;
  if (highest.may_reserve) {
    const Instant peak{0, Measure::live, highest.at};
    without += untouched(alive_at(trace, {peak}, highest.last_step).at(peak));
  }
  const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(highest.bytes, 0));
  return bytes - std::min(bytes, without);
}

} // namespace memtrace::replay
