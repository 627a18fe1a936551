// Purpose: `memtrace report`.
#include "analyzer/cli/commands/report_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/progress_meter.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/findings/process/across_processes.h"
#include "analyzer/job/job_survey.h"
#include "analyzer/job/trace_lookup.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/print/json/document.h"
#include "analyzer/print/text/ledger_text.h"
#include "analyzer/print/text/outlier_text.h"
#include "analyzer/print/text/report_text.h"
#include "analyzer/rss/rank_outliers.h"

namespace memtrace::cli {
namespace {

void check_memory(const report::Options& options, const report::ProcessAnalysis& analysis) {
  if (!options.memory) return;
  const auto memory = report::memory_named(*options.memory);
  if (memory && analysis.account.peaks.contains(*memory)) return;
  std::string known;
  for (const auto& [id, peaks] : analysis.account.peaks)
    known += (known.empty() ? "" : ", ") + report::memory_name(id);
  throw report::UsageError("--memory " + *options.memory + ": not in this trace; it has " + known);
}

std::optional<report::Family> family_of(const std::vector<report::Process>& processes) {
  std::vector<report::FamilyMember> relatives;
  relatives.reserve(processes.size());
  for (const report::Process& process : processes)
    relatives.push_back({&process.facts, &process.samples, process.kind});
  return report::sum_family(relatives);
}

} // namespace

int report_command(const ReportArguments& arguments) {
  report::Options options = arguments.options;
  options.peak_top = arguments.all ? std::numeric_limits<std::size_t>::max() : options.top;
  if (options.memory && !report::memory_named(*options.memory)) {
    throw report::UsageError("--memory " + *options.memory + ": expected host or cuda:N");
  }
  report::TextStyle look;
  look.color = arguments.output.empty() && ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  look.all_steps = options.steps.all || options.steps.range.has_value();
  if (arguments.all || arguments.top_given) look.holders = options.peak_top;

  Meter meter(STDERR_FILENO);
  std::vector<report::Process> processes = report::survey(report::find_traces(arguments.trace), {}, meter);
  const bool json = arguments.format == "json";
  report::Document document(options);
  std::optional<report::Family> family;
  if (!options.memory || *options.memory == "host") family = family_of(processes);
  report::JobFindings several;
  report::Ranks ranks;
  const bool workers = std::any_of(processes.begin(), processes.end(),
                                   [](const report::Process& process) { return process.kind == "worker"; });
  std::string text;
  std::size_t number = 0;
  for (report::Process& process : processes) {
    ++number;
    if (processes.size() > 1) meter.on(fmt::format("reading trace {} of {}", number, processes.size()));
    // One at a time: memory is that of the largest, not of all.
    if (!process.trace) process.trace = std::make_unique<trace::Trace>(process.path, &meter);
    const auto analysis = report::analyze_process(std::move(process.trace), process.kind, process.end, options);
    const report::Findings findings = report::find(*analysis);
    if (number == 1) check_memory(options, *analysis);
    several.add(*analysis, workers);
    ranks.add(*analysis);
    if (json) {
      document.add(*analysis, findings, number == 1 && family ? &*family : nullptr);
    } else if (number == 1 || !findings.empty()) {
      if (number > 1) text += "\n";
      text += report::process_text(*analysis, findings, options, look);
      if (number == 1 && processes.size() > 1) text += "\n";
    } else {
      text += report::process_line(*analysis);
    }
  }
  if (family) text += report::family_text(*family, look.color);
  for (const report::Outlier& outlier : ranks.outliers()) {
    document.add(outlier);
    text += report::outlier_text(outlier, look.color);
  }
  std::string causes;
  for (const report::JobFinding& found : several.find()) {
    causes += report::finding_text(found.finding, look);
    document.add(found);
  }
  text = causes + text;
  meter.clear();
  write_all(json ? std::move(document).take() : std::vector{text}, arguments.output);
  return 0;
}

} // namespace memtrace::cli
