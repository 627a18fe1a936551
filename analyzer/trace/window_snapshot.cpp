// Purpose: the state when a window began, as events that come before all events of the window.
#include "analyzer/trace/window_snapshot.h"

#include "analyzer/trace/snapshot_events.h"

namespace memtrace::trace {

using format::EventType;

Beginning snapshot(const std::vector<Run>& runs, Ordinal ordinal,
                   const std::function<void(const Event&)>& take) {
  Beginning beginning{ordinal, {}};
  Cursor cursor(runs);
  format::RingRecord record{};
  bool begun = false; // `window` comes first, and once
  while (cursor.next(record)) {
    const auto type = static_cast<EventType>(record.type);
    if (type == EventType::flows) {
      const auto flows = record.as<format::FlowsEvent>();
      beginning.small[flows.thread] = flows.carried;
    }
    if (begun ? !is_snapshot_state(type) : type != EventType::window) continue;
    begun = true;
    Event event;
    event.ordinal = ++beginning.ordinal;
    event.stamp = record.stamp;
    event.type = type;
    event.kind = record.kind < format::kKinds ? static_cast<format::Kind>(record.kind) : format::Kind::none;
    event.flags = record.flags;
    event.payload = record.payload;
    take(event);
  }
  return beginning;
}

} // namespace memtrace::trace
