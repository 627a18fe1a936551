// Purpose: memtrace.explain/1, and its rows in a report.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/explain/bytes_per_parameter.h"
#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

// Returns the rows of `bytes_per_parameter`; none where there is nothing to explain.
Json rows_json(ProcessAnalysis& analysis);

// `project`: also says what so many parameters would take.
Json explain_json(const Explanation& explanation, std::optional<std::uint64_t> project);

} // namespace memtrace::report
