// Purpose: one pass over a trace with phases and ledger in step, shown to an observer.
#pragma once

#include "analyzer/replay/live_blocks.h"
#include "analyzer/replay/phase_tracker.h"
#include "analyzer/trace/trace.h"

namespace memtrace::replay {

class Replay;

class Observer : public PhaseWatcher, public BlockWatcher {
 public:
  virtual void started() {}
  // Before a `window` event: nothing is known of what comes between the events before and those after it.
  virtual void cut(const trace::Event&) {}
  // After each event has taken effect. `place` is that of the event's thread.
  virtual void after(const trace::Event&, const PhasePosition&) {}
  // After the last event. Blocks that are alive now survived.
  virtual void finished() {}

 protected:
  // What is so right now: levels, open phases, the current step.
  const LiveBlocks& ledger() const { return *ledger_; }
  const Phases& phases() const { return *phases_; }

 private:
  friend class Replay;
  const LiveBlocks* ledger_ = nullptr;
  const Phases* phases_ = nullptr;
};

// Each pass over one Trace shows the same ordinals, path ids and occurrence ids.
class Replay {
 public:
  explicit Replay(const trace::Trace& trace);
  trace::OrderCounts run(Observer& observer);

  const LiveBlocks& ledger() const { return ledger_; }
  const Phases& phases() const { return phases_; }

 private:
  const trace::Trace& trace_;
  LiveBlocks ledger_;
  Phases phases_;
};

} // namespace memtrace::replay
