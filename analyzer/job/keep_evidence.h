// Purpose: saves evidence beside its trace.
#pragma once

#include <string>

#include "analyzer/evidence/evidence.h"

namespace memtrace::report {

// Saves the evidence and reads it again, so that the first report equals later reports. Warns if it cannot be
// saved.
void keep(evidence::Evidence& evidence, const std::string& store);

} // namespace memtrace::report
