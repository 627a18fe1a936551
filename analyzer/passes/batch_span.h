// Purpose: the middle and the end of a worker's batches, in a worker whose batches are not in shared memory.
#pragma once

#include <optional>

#include "analyzer/trace/trace.h"

namespace memtrace::replay {

struct EventMark {
  format::Stamp stamp = 0;
  trace::Ordinal at = 0;
};

struct BatchSpan {
  EventMark middle; // a birth about halfway between the begin and the last birth
  EventMark end;    // of the phase, or of the process
};

// Returns the span of the outermost phase `data`, in which a worker of a loader makes all its batches. It ends
// with the phase, or with an exit inside it. A batch is alive until it is sent, and a worker then waits for its
// parent. The middle does not count that wait. Returns nullopt if the phase has no births or no end, as in a
// killed process. One pass, bounded memory.
std::optional<BatchSpan> batch_span(const trace::Trace& trace);

} // namespace memtrace::replay
