// Room: cli.
// Job: the processes of a job: what each was, how it ended, and what is known of that from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "analyzer/cli/process.h"
#include "analyzer/trace/progress.h"

namespace memtrace::cli {

// Main first, then as they began. A file that cannot be read is talked about, unless it is the only one. What
// others say of an end is read once and kept beside the trace; `brought` are files to add to it.
std::vector<Process> survey(const std::vector<std::string>& files, const std::vector<std::string>& brought,
                            trace::Progress& progress);

} // namespace memtrace::cli
