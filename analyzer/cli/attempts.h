// Room: cli.
// Job: the attempts of a job in one directory: which traces are of which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::cli {

struct AttemptFile {
  std::uint32_t attempt = 0;
  std::uint64_t began = 0; // Unix time in ns
};

// Of the files `job`, `job-2`, ... of a directory, each of which one job wrote when it began to record: the
// first of each attempt, in order. Jobs that ran at once are of one attempt.
std::vector<AttemptFile> attempts_in(const std::string& directory);

// Of the traces of that directory those of one attempt, by when they began; of the newest one that has any
// where none is asked for. Throws Usage when there is no such attempt.
std::vector<std::string> traces_of_attempt(const std::string& directory, const std::vector<std::string>& traces,
                                           std::optional<std::uint32_t> attempt);

} // namespace memtrace::cli
