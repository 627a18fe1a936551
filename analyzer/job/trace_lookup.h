// Purpose: what the argument TRACE means: files to read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::report {

// A trace file, or those of a directory, by name. "" is the newest job under ./memtrace-out. Where a job was
// attempted again and again, in one directory or each time in one beside the others, those of one attempt: the
// newest, or the one asked for.
// Throws UsageError when there is none; a file is given as it is, readable or not.
std::vector<std::string> find_traces(const std::string& argument,
                                     std::optional<std::uint32_t> attempt = std::nullopt);

} // namespace memtrace::report
