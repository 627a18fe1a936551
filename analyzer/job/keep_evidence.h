// Purpose: evidence is saved beside the trace that it is about.
#pragma once

#include <string>

#include "analyzer/evidence/evidence.h"

namespace memtrace::report {

// Saves it, and reads it again, so that the first report says what later ones do. Warns if it cannot be saved.
void keep(evidence::Evidence& evidence, const std::string& store);

} // namespace memtrace::report
