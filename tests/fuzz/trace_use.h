// Purpose: what the report asks of a trace, from the pass over its events to the sets at its peaks.
#pragma once

#include <string>

#include "analyzer/trace/trace.h"

namespace memtrace::tests {

// Reads `path` and the files beside it, and folds them. Expects that two passes see the same events.
// A trace that cannot be read at all is a Fault, which is caught.
void use_trace(const std::string& path, trace::ReadExtent extent = trace::ReadExtent::all);

// A small trace of Builder's trace id: threads 0 to 2, phases, steps, stacks, a device.
const std::string& plain_trace();

} // namespace memtrace::tests
