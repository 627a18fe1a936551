// Purpose: finds the files that the argument TRACE names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::report {

// Returns the trace file, or the trace files of a directory, sorted by name. "" means the newest job under
// ./memtrace-out.
// If a job had several attempts, in one directory or in a directory each, returns the traces of `attempt`.
// Without `attempt`, it is the newest.
// Throws UsageError if there is no trace. Returns the path of a file as it is, readable or not.
std::vector<std::string> find_traces(const std::string& argument,
                                     std::optional<std::uint32_t> attempt = std::nullopt);

} // namespace memtrace::report
