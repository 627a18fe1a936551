// Purpose: selects the process that a command analyzes, and the memory that the user requested.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/progress_meter.h"
#include "analyzer/cli/common/screen.h"
#include "analyzer/explain/nothing_to_show.h"
#include "analyzer/explain/process_analysis.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {

// Returns the analysis of the first process of a job, which is its main process. `argument` "": the newest job.
std::unique_ptr<report::ProcessAnalysis> main_view(const std::string& argument, Meter& meter);

// Returns the analyses of two ranks of a job. Throws UsageError if the job has no trace of one of them.
std::pair<std::unique_ptr<report::ProcessAnalysis>, std::unique_ptr<report::ProcessAnalysis>> rank_views(
    const std::string& argument, std::uint32_t a, std::uint32_t b, Meter& meter);

// Returns the memory named `asked`. "": the memory with the most tensor bytes. Throws UsageError if it is not
// in the trace.
replay::MemoryId memory_of(report::ProcessAnalysis& analysis, const std::string& asked);

// Writes the text that `make(meter)` returns, and returns the exit status. Throws UsageError if a trace has
// nothing to show.
template <class Make>
int answer(const std::string& output, Make make) {
  Meter meter(STDERR_FILENO);
  std::string text;
  try {
    text = make(meter);
  } catch (const report::NothingToShow& nothing) {
    throw report::UsageError(nothing.what());
  }
  meter.clear();
  write_all({text}, output);
  return 0;
}

} // namespace memtrace::cli
