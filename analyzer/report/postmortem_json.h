// Room: report.
// Job: `death` of memtrace.postmortem/1.
#pragma once

#include "report/json.h"

namespace memtrace::report {

// Null for a process that ended as programs end, or goes on. Of `held` the largest `top` with their sites.
Json death_json(View& view, std::size_t top);

} // namespace memtrace::report
