// Purpose: selects the process that a command analyzes, and the memory that the user requested.
#include "analyzer/cli/common/main_process.h"

#include "analyzer/findings/all_findings.h"
#include "analyzer/job/job_survey.h"
#include "analyzer/job/trace_lookup.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {

std::unique_ptr<report::ProcessAnalysis> main_view(const std::string& argument, Meter& meter) {
  std::vector<report::Process> processes = report::survey(report::find_traces(argument), {}, meter);
  report::Process& main = processes.front();
  auto trace = std::move(main.trace);
  for (report::Process& process : processes) process.trace.reset(); // frees the memory of the others
  if (!trace) trace = std::make_unique<trace::Trace>(main.path, &meter);
  return report::analyze_process(std::move(trace), main.kind, main.end, {});
}

replay::MemoryId memory_of(report::ProcessAnalysis& analysis, const std::string& asked) {
  const bool any = asked.empty(); // then the findings determine the memory
  const replay::MemoryId memory = report::main_memory(
      analysis, any ? report::find(analysis) : report::Findings{}, any ? std::nullopt : std::optional(asked));
  if (!asked.empty() && report::memory_name(memory) != asked)
    throw report::UsageError("--memory " + asked +
                             ": not in this trace; expected host or one of its devices, cuda:N");
  return memory;
}

} // namespace memtrace::cli
