// Purpose: packs the files of a job into one file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/decode/progress.h"

namespace memtrace::report {

struct PackedJob {
  std::size_t traces = 0;
  std::uint64_t bytes = 0; // of the packed file
  bool all_exited = true;  // each trace has the orderly end of its process
  std::size_t running = 0; // processes that still ran
  struct PackedFile {
    std::string path;
    std::string name; // in the packed file; "": it was made for the packed file
  };
  std::vector<PackedFile> of_processes; // the files of the traces
  std::vector<PackedFile> of_job;       // those beside them, which other traces there may share
};

// Writes the files of the job to `output`, with its evidence and the names of its native code. `redact`:
// private names are replaced (docs/pack.md). Throws what survey() throws, and std::runtime_error with one line
// if a file cannot be read or written.
PackedJob pack_job(const std::vector<std::string>& traces, const std::string& output, bool redact,
                   trace::Progress& progress);

} // namespace memtrace::report
