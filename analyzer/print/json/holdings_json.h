// Purpose: writes the blocks alive at an instant as JSON.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

Json row_json(ProcessAnalysis& analysis, const replay::Holding& row);

// Returns one set of rows: those of the largest `top` sites, the rest by kind and role, and last the bytes
// without records. So the bytes add up to `total`.
Json at_peak(ProcessAnalysis& analysis, const replay::Holdings& holdings, std::int64_t total, std::size_t top);
Json at_peak(ProcessAnalysis& analysis, const replay::Instant& instant, std::int64_t total, std::size_t top);

} // namespace memtrace::report
