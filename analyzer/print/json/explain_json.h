// Purpose: writes memtrace.explain/1, and its rows in a report.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/explain/bytes_per_parameter.h"
#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

// Returns the rows of `bytes_per_parameter`, or an empty array if there was no update or no parameters are
// known.
Json rows_json(ProcessAnalysis& analysis);

// `project`: adds the bytes that this number of parameters would take.
Json explain_json(const Explanation& explanation, std::optional<std::uint64_t> project);

} // namespace memtrace::report
