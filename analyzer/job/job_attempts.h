// Purpose: the attempts of a job, and the traces that belong to each attempt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::report {

// The content of a file `job`, `job-2`, ... in a directory. Each job writes one when it begins to record.
struct JobFile {
  std::string directory;
  std::uint32_t attempt = 0;
  std::uint64_t began = 0;   // Unix time in ns
  std::uint64_t command = 0; // a hash; 0: not stated
};

// Returns the first job of each attempt in a directory, in the order of the attempts. Jobs that ran at the same
// time belong to one attempt.
std::vector<JobFile> attempts_in(const std::string& directory);

// Returns those of the directory's traces that belong to one attempt, by their start times. Without `attempt`,
// it is the newest attempt that has traces. Throws UsageError if the attempt does not exist.
std::vector<std::string> traces_of_attempt(const std::string& directory, const std::vector<std::string>& traces,
                                           std::optional<std::uint32_t> attempt);

// For jobs that have a directory each: returns the directories of one attempt below `place`. They ran the
// command of the job in `newest`. Throws UsageError if there are none.
std::vector<std::string> directories_of_attempt(const std::string& place, const std::string& newest,
                                                std::uint32_t attempt);

} // namespace memtrace::report
