// Purpose: the highest peak of a memory that has another cause than the peak that the reports lead with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/explain/leading_peak.h"

namespace memtrace::report {

// Memory that is not alive at this peak cannot lower the whole run's peak below it.
struct NextPeak {
  replay::Peak peak;      // its stamp is 0
  std::int64_t bytes = 0; // of the measure; of `live` without reservations that were never touched
  std::string line;       // the user's line of the last large block before it; may be empty
  replay::Holdings alive;
};

// Returns the highest peak in another phase than the leading peak. Outside the phases of a training step,
// another line of the user's is another cause, too. Between the two, the level is lower by kWorthwhile of the
// leading peak. Returns nullopt if there is none, if it is below half of the leading peak, or if the trace has
// only rows of some steps. Makes a whole pass, unless Options::next_peak was set.
std::optional<NextPeak> next_peak(ProcessAnalysis& analysis, const LeadingPeak& leading);

} // namespace memtrace::report
