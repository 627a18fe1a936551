// Purpose: says which parts of a trace were left out because a newer memtrace wrote them.
#pragma once

#include <string>

#include "analyzer/trace/trace.h"

namespace memtrace::report {

// Returns the parts and their version: "3 of 10 segments (12.00 MiB) and the ring file are of trace version 5".
// Returns "" if there are none.
std::string newer_parts(const trace::NewerParts& newer);

// Returns newer_parts() and the version of memtrace that reads them. Returns "" if there are none.
std::string newer_parts_line(const trace::NewerParts& newer);

} // namespace memtrace::report
