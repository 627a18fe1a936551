// Purpose: evidence beside a trace, so that whoever reads it later has the same.
#pragma once

#include <optional>
#include <string>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// The file of a trace's evidence: STEM.evidence beside STEM.memtrace.
std::string store_of(const std::string& trace_path);

// None: there is no such file, or it is none that can be read.
std::optional<Evidence> load(const std::string& path);

// False when it could not be written. A reader sees all of it or nothing.
bool save(const std::string& path, const Evidence& evidence);

} // namespace memtrace::evidence
