// Purpose: the state when a window began, as events that come before all events of the window.
#pragma once

#include <functional>
#include <vector>

#include "analyzer/trace/event_merger.h"

namespace memtrace::trace {

// Gives `window` to `take`, then `level`, `open_phase`, `held`, `displaced` and `early_death` events, numbered
// from `ordinal` + 1. Returns the state from which the merge of the window's threads continues: it has the
// `flows`. Ignores all other records.
Beginning snapshot(const std::vector<Run>& runs, Ordinal ordinal,
                   const std::function<void(const Event&)>& take);

} // namespace memtrace::trace
