// Purpose: finds armed processes by the files that they have mapped, and calls them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "preload/format/armed_file.h"

namespace memtrace::cli {

// A process that was started with MEMTRACE=armed and holds MEMTRACE_MIN_PEAK.
struct ArmedProcess {
  std::string path; // of its file
  format::ArmedFile file{};
};

// Returns nullopt if the file cannot be read, or is not of an armed process.
std::optional<ArmedProcess> armed_process(const std::string& path);
// Returns the file that the process has mapped, as this process reaches it: the process may be in a container.
// "" if it has none, or may not be looked at.
std::string armed_file_of(std::uint32_t pid);
// Returns the processes whose files are in the directory of a job, in order of rank, then of name.
std::vector<ArmedProcess> armed_in(const std::string& directory);

// Returns false if the file cannot be written. `steps`: 0 records until the end of the process.
bool call(const ArmedProcess& process, std::uint64_t steps);
// Returns the present state; nullopt if the process has removed its file, as it does when it ends.
std::optional<format::ArmedState> state_of(const ArmedProcess& process);

} // namespace memtrace::cli
