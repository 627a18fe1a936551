// Purpose: selects the process that a command analyzes, and the memory that the user requested.
#include "analyzer/cli/common/main_process.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <vector>

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

namespace {

report::Process& of_rank(std::vector<report::Process>& processes, std::uint32_t rank) {
  const auto found = std::find_if(processes.begin(), processes.end(), [rank](const report::Process& process) {
    return process.facts.rank == rank && process.kind != "worker" && process.kind != "child";
  });
  if (found != processes.end()) return *found;
  std::set<std::uint32_t> known;
  for (const report::Process& process : processes)
    if (process.facts.rank != trace::kNoRank) known.insert(process.facts.rank);
  throw report::UsageError(
      known.empty() ? fmt::format("--rank {}: the processes of this job have no ranks", rank)
                    : fmt::format("--rank {}: this job has no trace of it; it has {} ranks between {} and {}",
                                  rank, known.size(), *known.begin(), *known.rbegin()));
}

std::unique_ptr<report::ProcessAnalysis> view_of(report::Process& process, Meter& meter) {
  auto trace = std::move(process.trace);
  if (!trace) trace = std::make_unique<trace::Trace>(process.path, &meter);
  return report::analyze_process(std::move(trace), process.kind, process.end, {});
}

} // namespace

std::pair<std::unique_ptr<report::ProcessAnalysis>, std::unique_ptr<report::ProcessAnalysis>> rank_views(
    const std::string& argument, std::uint32_t a, std::uint32_t b, Meter& meter) {
  std::vector<report::Process> processes = report::survey(report::find_traces(argument), {}, meter);
  report::Process& one = of_rank(processes, a);
  report::Process& other = of_rank(processes, b);
  for (report::Process& process : processes)
    if (&process != &one && &process != &other) process.trace.reset(); // frees the memory of the others
  auto first = view_of(one, meter);
  return {std::move(first), view_of(other, meter)};
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
