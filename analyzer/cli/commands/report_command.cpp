// Purpose: `memtrace report`.
#include "analyzer/cli/commands/report_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "analyzer/cli/common/main_process.h"
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

// Collects the report of a job, one process after the other. Peak memory is that of the largest process, not of
// all together.
class JobReport {
 public:
  JobReport(const report::Options& options, const report::TextStyle& style, bool json,
            const std::vector<report::Process>& processes)
      : options_(options), style_(style), json_(json), alone_(processes.size() == 1), document_(options) {
    if (!options.memory || *options.memory == "host") family_ = family_of(processes);
    workers_ = std::any_of(processes.begin(), processes.end(),
                           [](const report::Process& process) { return process.kind == "worker"; });
  }

  void add(report::Process& process) {
    const auto analysis =
        report::analyze_process(std::move(process.trace), process.kind, process.end, options_);
    const report::Findings findings = report::find(*analysis);
    if (first_) check_memory(options_, *analysis);
    across_.add(*analysis, workers_);
    ranks_.add(*analysis);
    if (json_) {
      document_.add(*analysis, findings, first_ && family_ ? &*family_ : nullptr);
    } else {
      add_text(*analysis, findings);
    }
    first_ = false;
  }

  std::vector<std::string> take() && {
    if (family_) text_ += report::family_text(*family_, style_.color);
    for (const report::Outlier& outlier : ranks_.outliers()) {
      document_.add(outlier);
      text_ += report::outlier_text(outlier, style_.color);
    }
    std::string causes;
    for (const report::JobFinding& found : across_.find()) {
      causes += report::finding_text(found.finding, style_);
      document_.add(found);
    }
    return json_ ? std::move(document_).take() : std::vector{causes + text_};
  }

 private:
  // Adds the first process and each process with a finding in full. Each other process gets one line.
  void add_text(report::ProcessAnalysis& analysis, const report::Findings& findings) {
    if (!first_ && findings.empty()) {
      text_ += report::process_line(analysis);
      return;
    }
    if (!first_) text_ += "\n";
    text_ += report::process_text(analysis, findings, options_, style_);
    if (first_ && !alone_) text_ += "\n";
  }

  const report::Options& options_;
  const report::TextStyle& style_;
  bool json_;
  bool alone_;
  bool first_ = true;
  bool workers_ = false;
  report::Document document_;
  report::JobFindings across_;
  report::Ranks ranks_;
  std::optional<report::Family> family_;
  std::string text_;
};

report::Options options_of(const ReportArguments& arguments) {
  report::Options options = arguments.options;
  options.peak_top = arguments.all ? std::numeric_limits<std::size_t>::max() : options.top;
  return options;
}

report::TextStyle style_of(const ReportArguments& arguments, const report::Options& options) {
  report::TextStyle style;
  style.color = in_color(arguments.output);
  style.all_steps = options.steps.all || options.steps.range.has_value();
  if (arguments.all || arguments.top_given) style.holders = options.peak_top;
  return style;
}

} // namespace

int report_command(const ReportArguments& arguments) {
  const report::Options options = options_of(arguments);
  const report::TextStyle style = style_of(arguments, options);
  Meter meter(STDERR_FILENO);
  std::vector<report::Process> processes = report::survey(report::find_traces(arguments.trace), {}, meter);
  JobReport job(options, style, arguments.format == "json", processes);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes.size() > 1) meter.on(fmt::format("reading trace {} of {}", i + 1, processes.size()));
    if (!processes[i].trace) processes[i].trace = std::make_unique<trace::Trace>(processes[i].path, &meter);
    job.add(processes[i]);
  }
  const std::vector<std::string> pieces = std::move(job).take();
  meter.clear();
  write_all(pieces, arguments.output);
  return 0;
}

} // namespace memtrace::cli
