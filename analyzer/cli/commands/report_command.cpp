// Purpose: `memtrace report`.
#include "analyzer/cli/commands/report_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "analyzer/cli/commands/diff_command.h"
#include "analyzer/cli/commands/postmortem_command.h"
#include "analyzer/cli/common/main_process.h"
#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/progress_meter.h"
#include "analyzer/explain/bytes_per_parameter.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/findings/process/across_processes.h"
#include "analyzer/job/job_survey.h"
#include "analyzer/job/process_order.h"
#include "analyzer/job/trace_lookup.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/print/json/document.h"
#include "analyzer/print/json/explain_json.h"
#include "analyzer/print/json/outlier_json.h"
#include "analyzer/print/text/job_text.h"
#include "analyzer/print/text/ledger_text.h"
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

// Of a peak: a page adds up the rows of a line, and a line of a large model has many sites.
constexpr std::size_t kPageRows = 200;

enum class Form { text, json, html };

Form form_of(const std::string& format) {
  return format == "json" ? Form::json : format == "html" ? Form::html : Form::text;
}

// Collects the report of a job, one process after the other. Peak memory is that of the largest process, not of
// all together.
class JobReport {
 public:
  JobReport(const report::Options& options, const report::TextStyle& style, const ReportArguments& arguments,
            const std::vector<report::Process>& processes)
      : options_(options),
        style_(style),
        form_(form_of(arguments.format)),
        document_(options),
        page_(arguments.page_size),
        number_(processes.size()) {
    if (!options.memory || *options.memory == "host") family_ = family_of(processes);
    report::Hosts hosts;
    for (const report::Process& process : processes) hosts.add(process.facts, process.samples);
    differences_.hosts = hosts.outliers();
    differences_.death = report::first_death(processes);
    workers_ = std::any_of(processes.begin(), processes.end(),
                           [](const report::Process& process) { return process.kind == "worker"; });
  }

  void add(report::Process& process) {
    const auto analysis =
        report::analyze_process(std::move(process.trace), process.kind, process.end, options_);
    const report::Findings findings = report::find(*analysis);
    if (first_) check_memory(options_, *analysis);
    across_.add(*analysis, findings, workers_);
    ranks_.add(*analysis);
    if (form_ != Form::text) document_.add(*analysis, findings, first_ && family_ ? &*family_ : nullptr);
    if (form_ != Form::json) {
      const bool died = gravity(process) == report::Gravity::died_for_memory;
      summaries_.push_back(report::summary_of(*analysis, findings, died));
      // Any rank may turn out to differ from the others.
      const bool may_lead = first_ || style_.all || process.facts.rank != trace::kNoRank;
      texts_.push_back(may_lead ? report::process_text(*analysis, findings, options_, style_) : "");
      // Whether there are findings about several processes is known after the last process.
      report::TextStyle beside = style_;
      beside.beside_others = true;
      const bool clean = may_lead && findings.empty() && number_ > 1;
      beside_.push_back(clean ? report::process_text(*analysis, findings, options_, beside) : texts_.back());
    }
    if (form_ == Form::html) add_to_page(*analysis, findings);
    first_ = false;
  }

  // `postmortem`: what `memtrace postmortem --format json` prints, for a page; "" if no process died for
  // memory.
  std::vector<std::string> take(std::string postmortem) && {
    differences_.outliers = ranks_.outliers();
    std::string causes;
    for (const report::JobFinding& found : across_.find()) {
      causes += report::finding_text(found.finding, style_);
      document_.add(found);
    }
    for (const report::Outlier& outlier : differences_.outliers) document_.add(outlier);
    if (form_ == Form::text) return {text(causes)};
    std::vector<std::string> pieces =
        std::move(document_).take({{"host_outliers", report::host_outliers_json(differences_.hosts)},
                                   {"first_to_fail", report::first_death_json(differences_.death)}});
    if (form_ == Form::json) return pieces;
    for (const std::string& piece : pieces) documents_.report += piece;
    documents_.postmortem = std::move(postmortem);
    return {std::move(page_).take(documents_, text(causes))};
  }

 private:
  // The leading process gets most of the page: the timelines of the others show when they grew.
  void add_to_page(report::ProcessAnalysis& analysis, const report::Findings& findings) {
    constexpr double kLeadingPart = 0.85, kOthersPart = 0.1;
    if (first_) page_.make_room(document_.pieces());
    const replay::MemoryId memory = report::main_memory(analysis, findings, options_.memory);
    page_.add(analysis, findings, memory,
              first_ ? kLeadingPart : kOthersPart / static_cast<double>(number_ - 1));
    if (!first_) return;
    documents_.explain = document([&] {
      return report::json_line(
          report::explain_json(report::explain(analysis, memory, std::nullopt), std::nullopt));
    });
    documents_.first_vs_steady = document([&] { return first_and_typical_json(analysis, memory); });
  }

  // Returns the ranks, the causes across processes, the leading process in full, and a line for each other
  // process. With `all`, each in full.
  std::string text(const std::string& causes) const {
    const std::size_t leading = report::shown_in_full(summaries_, differences_.outliers);
    std::string out = report::ranks_text(summaries_, differences_, style_.screen);
    const std::vector<std::string>& texts = causes.empty() ? texts_ : beside_;
    out += causes;
    if (!causes.empty()) out += "\n";
    out += texts[leading];
    out += report::others_text(summaries_, leading, style_.screen);
    for (std::size_t i = 0; style_.all && i < texts.size(); ++i)
      if (i != leading) out += "\n" + texts[i];
    if (family_)
      out += style_.all ? report::family_text(*family_, style_.screen)
                        : report::family_line(*family_, style_.screen);
    return out;
  }

  const report::Options& options_;
  const report::TextStyle& style_;
  Form form_;
  bool first_ = true;
  bool workers_ = false;
  report::Document document_;
  ReportPage page_;
  ReportPage::Documents documents_; // of the page
  std::size_t number_;              // of processes
  report::JobFindings across_;
  report::Ranks ranks_;
  report::JobDifferences differences_;
  std::optional<report::Family> family_;
  std::vector<report::ProcessSummary> summaries_;
  std::vector<std::string> texts_;  // of the same processes, in full; "" where it cannot lead
  std::vector<std::string> beside_; // the same, below findings about several processes
};

report::Options options_of(const ReportArguments& arguments) {
  report::Options options = arguments.options;
  if (arguments.format == "html") {
    options.compact = true;
    if (!arguments.top_given) options.top = kPageRows;
  }
  options.next_peak = arguments.format != "json";
  options.peak_top = arguments.all ? std::numeric_limits<std::size_t>::max() : options.top;
  return options;
}

report::TextStyle style_of(const ReportArguments& arguments, const report::Options& options) {
  report::TextStyle style;
  style.screen = arguments.format == "html" ? screen_of(-1) : screen_of(arguments.output);
  style.screen.whole = style.screen.whole || arguments.all;
  style.by = arguments.by == "module" ? report::Grouping::module
             : arguments.by == "role" ? report::Grouping::role
                                      : report::Grouping::line;
  style.all = arguments.all;
  style.all_steps = options.steps.all || options.steps.range.has_value();
  if (arguments.all || arguments.top_given) style.holders = options.peak_top;
  return style;
}

// Returns the report in pieces.
std::vector<std::string> report_pieces(const ReportArguments& arguments) {
  const report::Options options = options_of(arguments);
  const report::TextStyle style = style_of(arguments, options);
  Meter meter(STDERR_FILENO);
  std::vector<report::Process> processes = report::survey(report::find_traces(arguments.trace), {}, meter);
  JobReport job(options, style, arguments, processes);
  const bool died = std::any_of(processes.begin(), processes.end(), [](const report::Process& process) {
    return gravity(process) == report::Gravity::died_for_memory;
  });
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes.size() > 1) meter.on(fmt::format("reading trace {} of {}", i + 1, processes.size()));
    if (!processes[i].trace) processes[i].trace = std::make_unique<trace::Trace>(processes[i].path, &meter);
    job.add(processes[i]);
  }
  std::string postmortem;
  if (died && arguments.format == "html") postmortem = postmortem_json(arguments.trace);
  std::vector<std::string> pieces = std::move(job).take(std::move(postmortem));
  meter.clear();
  return pieces;
}

} // namespace

std::string report_json(const std::string& trace, std::size_t top) {
  ReportArguments arguments;
  arguments.trace = trace;
  arguments.format = "json";
  arguments.options.compact = true;
  arguments.options.top = top;
  std::string out;
  for (const std::string& piece : report_pieces(arguments)) out += piece;
  return out;
}

int report_command(const ReportArguments& arguments) {
  if (arguments.format == "html") check_page(arguments.output);
  write_all(report_pieces(arguments), arguments.output);
  return 0;
}

} // namespace memtrace::cli
