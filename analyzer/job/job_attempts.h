// Purpose: the attempts of a job in one place: which traces are of which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::report {

// What the file `job`, `job-2`, ... of a directory says, which each job writes when it begins to record.
struct JobFile {
  std::string directory;
  std::uint32_t attempt = 0;
  std::uint64_t began = 0;   // Unix time in ns
  std::uint64_t command = 0; // a hash; 0: not said
};

// Of a directory in which jobs began one after the other, the first of each attempt, in order. Jobs that ran at
// once are of one attempt.
std::vector<JobFile> attempts_in(const std::string& directory);

// Of the traces of that directory those of one attempt, by when they began; of the newest one that has any
// where none is asked for. Throws UsageError when there is no such attempt.
std::vector<std::string> traces_of_attempt(const std::string& directory, const std::vector<std::string>& traces,
                                           std::optional<std::uint32_t> attempt);

// Where each job has a directory of its own: of those below `place` that ran the command of the one in
// `newest`, the directories of one attempt. Throws UsageError when there is none.
std::vector<std::string> directories_of_attempt(const std::string& place, const std::string& newest,
                                                std::uint32_t attempt);

} // namespace memtrace::report
