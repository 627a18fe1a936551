// Purpose: stores evidence beside a trace, so that a later analysis has the same evidence.
#pragma once

#include <optional>
#include <string>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Returns the path of a trace's evidence file: STEM.evidence beside STEM.memtrace.
std::string store_of(const std::string& trace_path);

// Returns nullopt if the file is missing or unreadable.
std::optional<Evidence> load(const std::string& path);

// Returns the content of such a file.
std::string text_of(const Evidence& evidence);

// Returns false if the file could not be written. A reader sees the whole file or no file.
bool save(const std::string& path, const Evidence& evidence);

} // namespace memtrace::evidence
