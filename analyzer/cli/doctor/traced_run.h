// Purpose: runs a traced process into a temporary folder, and reads the facts of its trace.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/process_facts.h"

namespace memtrace::cli {

// Returns the exit status of the command; -1: it did not start, a signal ended it, or it took more than 30 s.
// The trace goes to `out`. Of the user's MEMTRACE variables, only those in `kept` apply. `said` gets what the
// command and memtrace print on stderr, up to 4 KiB. Without it, memtrace prints nothing, and the output is
// discarded.
int run_traced(const std::vector<std::string>& command, const std::string& library,
               const std::filesystem::path& out, const std::vector<std::string>& kept = {},
               std::string* said = nullptr);

// Returns the facts of the one trace in `folder`, or nullopt if no trace there can be read.
std::optional<trace::Facts> facts_in(const std::filesystem::path& folder);

// Returns the words of a command that writes its pid to the file `pid` in `folder`. The folder is one of the
// words, because a launcher in front of them may drop the environment.
std::vector<std::string> probe_in(const std::filesystem::path& folder);

// Returns whether the process whose pid the file `pid` in `folder` has left a trace there, or nullopt if there
// is no such file. With `words`, the trace must be of this command: a launcher that becomes the command has its
// pid.
std::optional<bool> is_traced_in(const std::filesystem::path& folder,
                                 const std::vector<std::string>& words = {});

} // namespace memtrace::cli
