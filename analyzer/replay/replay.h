// Purpose: one pass over a trace that follows phases and live blocks, and shows each event to an observer.
#pragma once

#include <span>

#include "analyzer/replay/live_blocks.h"
#include "analyzer/replay/phase_tracker.h"
#include "analyzer/trace/trace.h"

namespace memtrace::replay {

class Replay;
class Observers;

// An observer of a pass that another observer leads. It is told of no flow, death or phase, so that a pass with
// several of them stays fast.
class SideObserver {
 public:
  virtual ~SideObserver() = default;
  virtual void started() {}
  virtual void born(const Block&) {}
  // Called before a `window` event. The events between those before it and those after it are unknown.
  virtual void cut(const trace::Event&) {}
  // Called after each event has taken effect. `place` is the position of the event's thread.
  virtual void after(const trace::Event&, const PhasePosition&) {}
  // Called after the last event. Blocks that are alive now survived.
  virtual void finished() {}

 protected:
  // The state after the present event: levels, open phases, the current step.
  const LiveBlocks& ledger() const { return *ledger_; }
  const Phases& phases() const { return *phases_; }

 private:
  friend class Replay;
  friend class Observers;
  friend class FollowedReplay;
  const LiveBlocks* ledger_ = nullptr;
  const Phases* phases_ = nullptr;
};

class Observer : public SideObserver, public PhaseWatcher, public BlockWatcher {
 public:
  void born(const Block&) override {} // both bases declare it
};

// The state of a replay between two events. Another pass over the same trace may continue from it.
struct Keyframe {
  trace::Trace::Place place;
  LiveBlocks ledger;
  Phases phases;

  trace::Ordinal at() const { return place.order->ordinal(); } // the event before it
  std::size_t bytes() const { return place.order->bytes() + ledger.bytes() + phases.bytes(); } // about
};

// Every pass over one Trace gives equal ordinals, path ids and occurrence ids.
class Replay {
 public:
  explicit Replay(const trace::Trace& trace);
  // Continues from the keyframe.
  Replay(const trace::Trace& trace, const Keyframe& from);

  // Replays to the end. `places`: see Trace::pass. The observers `beside` are told after `observer`.
  trace::OrderCounts run(Observer& observer, trace::Trace::Places* places = nullptr,
                         std::span<SideObserver* const> beside = {});
  // Replays up to event `until`, and then the observer is not told that the trace has ended. If the trace ends
  // before, it is told.
  void run_to(trace::Ordinal until, Observer& observer);

  const LiveBlocks& ledger() const { return ledger_; }
  const Phases& phases() const { return phases_; }

 private:
  const trace::Trace& trace_;
  const Keyframe* from_ = nullptr;
  LiveBlocks ledger_;
  Phases phases_;
};

// A replay that gets its events bit by bit, while the process runs.
class FollowedReplay {
 public:
  // All must exist as long as this replay. `facts` may change.
  FollowedReplay(const trace::Definitions& definitions, const trace::Facts& facts, Observer& observer);
  FollowedReplay(const FollowedReplay&) = delete;
  FollowedReplay& operator=(const FollowedReplay&) = delete;

  void take(std::span<const trace::Event> events);

  const LiveBlocks& ledger() const { return ledger_; }
  const Phases& phases() const { return phases_; }

 private:
  LiveBlocks ledger_;
  Phases phases_;
  Observer& observer_;
};

} // namespace memtrace::replay
