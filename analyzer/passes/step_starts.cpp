// Purpose: when the last steps of a process began.
#include "analyzer/passes/step_starts.h"

namespace memtrace::replay {

// Of a later step, so that an event of a thread that is still in an older step changes nothing.
void StepStarts::after(const trace::Event& event, const PhasePosition& place) {
  if (place.step == Step::none || (!starts_.empty() && place.step <= starts_.back().step)) return;
  starts_.push_back({place.step, event.stamp});
  if (starts_.size() > kMost) starts_.pop_front();
}

} // namespace memtrace::replay
