// Purpose: the one process that a command is about, and the memory of it that was asked for.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>

#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/progress_meter.h"
#include "analyzer/explain/nothing_to_show.h"
#include "analyzer/explain/process_analysis.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {

// The first process of a job: its main one. "" for the newest job.
std::unique_ptr<report::ProcessAnalysis> main_view(const std::string& argument, Meter& meter);

// "" for the one where most tensors are. Throws UsageError for one that is not in the trace.
replay::MemoryId memory_of(report::ProcessAnalysis& analysis, const std::string& asked);

// For text that goes to stdout, where `output` is "".
bool in_color(const std::string& output);

// Writes what `make(meter)` says, and gives the exit status. Where a trace has nothing to say: throws
// UsageError.
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
