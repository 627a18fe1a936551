// Purpose: writes memtrace.diff/1.
#pragma once

#include <cstddef>

#include "analyzer/explain/diff.h"
#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

// Returns at most `top` rows with their sites, and one row for the rest.
Json diff_json(const Diff& diff, std::size_t top);

} // namespace memtrace::report
