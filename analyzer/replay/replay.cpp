// Purpose: one pass over a trace that follows phases and live blocks, and shows each event to an observer.
#include "analyzer/replay/replay.h"

namespace memtrace::replay {

namespace {

// The last known positions of threads. Only marks of phases and steps change a position, and most events are
// not marks.
class Places {
 public:
  const PhasePosition& of(std::uint32_t thread, const Phases& phases) {
    ThreadStep& known = known_[thread % kKept];
    if (!known.is || known.thread != thread) known = {true, thread, phases.place(thread)};
    return known.place;
  }
  void forget() {
    for (ThreadStep& known : known_) known.is = false;
  }
  static bool changed_by(format::EventType type) {
    using enum format::EventType;
    return type == phase_begin || type == phase_end || type == step || type == reset || type == window ||
           type == open_phase;
  }

 private:
  static constexpr std::size_t kKept = 16; // threads
  struct ThreadStep {
    bool is = false;
    std::uint32_t thread = 0;
    PhasePosition place;
  };
  ThreadStep known_[kKept];
};

} // namespace

Replay::Replay(const trace::Trace& trace)
    : trace_(trace), ledger_(trace.definitions(), trace.facts()), phases_(trace.definitions(), trace.facts()) {}

trace::OrderCounts Replay::run(Observer& observer) {
  observer.ledger_ = &ledger_;
  observer.phases_ = &phases_;
  observer.started();
  Places places;
  const trace::OrderCounts counts = trace_.each([&](const trace::Event& event) {
    if (event.type == format::EventType::window) observer.cut(event);
    if (phases_.follow_collection(event, observer)) places.forget();
    // Marks carry no bytes, so the order of phases and live blocks has no effect.
    if (Places::changed_by(event.type)) {
      phases_.apply(event, observer);
      places.forget();
    }
    const PhasePosition& place =
        event.type == format::EventType::held ? phases_.born(event) : places.of(event.thread, phases_);
    ledger_.apply(event, place, observer);
    observer.after(event, place);
  });
  observer.finished();
  return counts;
}

} // namespace memtrace::replay
