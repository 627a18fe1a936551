// Purpose: what was so when a window began, as events that come before all others of it.
#pragma once

#include <functional>
#include <vector>

#include "analyzer/trace/event_merger.h"

namespace memtrace::trace {

// Gives `window`, then `level`, `open_phase`, `held`, `displaced` and `early_death` events, numbered from
// `ordinal` + 1, and returns what the merge of the window's threads goes on from. Anything else in there has no
// effect.
Beginning snapshot(const std::vector<Run>& runs, Ordinal ordinal,
                   const std::function<void(const Event&)>& take);

} // namespace memtrace::trace
