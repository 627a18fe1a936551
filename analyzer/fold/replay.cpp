// Room: fold. Pure: ids in, numbers out.
// Job: one pass over a trace with phases and ledger in step, shown to an observer.
#include "fold/replay.h"

namespace memtrace::fold {

Replay::Replay(const trace::Trace& trace)
    : trace_(trace), ledger_(trace.definitions(), trace.facts()), phases_(trace.definitions(), trace.facts()) {}

trace::OrderCounts Replay::run(Observer& observer) {
  observer.ledger_ = &ledger_;
  observer.phases_ = &phases_;
  observer.started();
  const trace::OrderCounts counts = trace_.each([&](const trace::Event& event) {
    if (event.type == format::EventType::window) observer.cut(event);
    // Marks carry no bytes, so which of the two goes first does not show.
    phases_.apply(event, observer);
    const Place place =
        event.type == format::EventType::held ? phases_.born(event) : phases_.place(event.thread);
    ledger_.apply(event, place, observer);
    observer.after(event, place);
  });
  observer.finished();
  return counts;
}

} // namespace memtrace::fold
