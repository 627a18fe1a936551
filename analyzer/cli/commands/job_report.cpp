// Purpose: collects the report of a job from those of its processes.
#include "analyzer/cli/commands/job_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "analyzer/cli/commands/diff_command.h"
#include "analyzer/explain/bytes_per_parameter.h"
#include "analyzer/files/in_order.h"
#include "analyzer/files/processors.h"
#include "analyzer/files/warning.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/print/json/explain_json.h"
#include "analyzer/print/json/outlier_json.h"
#include "analyzer/print/text/ledger_text.h"

namespace memtrace::cli {
namespace {

std::optional<report::Family> family_of(const std::vector<report::Process>& processes) {
  std::vector<report::FamilyMember> relatives;
  relatives.reserve(processes.size());
  for (const report::Process& process : processes)
    relatives.push_back({&process.facts, &process.samples, process.kind});
  return report::sum_family(relatives);
}

} // namespace

JobReport::JobReport(ReportPlan plan, std::uint64_t page_size, std::vector<report::Process>& processes,
                     Meter& meter)
    : plan_(std::move(plan)), processes_(processes), meter_(meter), document_(plan_.options), page_(page_size) {
  if (!plan_.options.memory || *plan_.options.memory == "host") family_ = family_of(processes);
  report::Hosts hosts;
  for (const report::Process& process : processes) hosts.add(process.facts, process.samples);
  differences_.hosts = hosts.outliers();
}

ProcessReport JobReport::report_of(std::size_t number, bool leading) {
  return report_process(processes_[number], plan_, leading, leading && family_ ? &*family_ : nullptr, meter_);
}

// A page has room for what the processes before it left, so its processes are added one by one.
void JobReport::analyze_all() {
  const std::size_t count = processes_.size();
  const auto begins = [&](std::size_t number) {
    if (count > 1) meter_.on(fmt::format("reading trace {} of {}", number + 1, count));
  };
  begins(0);
  const auto make = [&](std::size_t i) { return report_of(i, i == 0); };
  const auto take = [&](std::size_t i, ProcessReport process) {
    add(i, std::move(process));
    if (i + 1 < count) begins(i + 1);
  };
  if (count == 1 || plan_.form == Form::html) {
    for (std::size_t i = 0; i < count; ++i) take(i, make(i));
    return;
  }
  meter_.only_subject(files::jobs() > 1);
  files::in_order<ProcessReport>(count, make, take);
  meter_.only_subject(false);
}

void JobReport::add(std::size_t number, ProcessReport process) {
  if (added_.empty() && number != 0 && process.failed.empty()) process = report_of(number, true);
  if (!process.failed.empty()) {
    if (failed_.empty()) failed_ = process.failed;
    meter_.clear();
    files::warn(process.failed);
    return;
  }
  added_.push_back(number);
  across_.add(std::move(process.across));
  ranks_.add(std::move(process.ranks));
  capacity_.add(std::move(process.capacity));
  if (!process.steps.begins.empty()) steps_.push_back(std::move(process.steps));
  if (plan_.form != Form::text) document_.add(processes_[number].facts, process.json);
  if (plan_.form == Form::json) return give(document_.take_begun());
  summaries_.push_back(std::move(process.summary));
  texts_.push_back(std::move(process.text));
  beside_.push_back(std::move(process.beside));
  if (plan_.form == Form::html) add_to_page(process);
}

void JobReport::give(const std::vector<std::string>& pieces) const {
  for (const std::string& piece : pieces) (*take_)(piece);
}

// The leading process gets most of the page: the timelines of the others show when they grew.
void JobReport::add_to_page(ProcessReport& process) {
  constexpr double kLeadingPart = 0.85, kOthersPart = 0.1;
  const bool first = added_.size() == 1;
  report::ProcessAnalysis& analysis = *process.analysis;
  if (first) page_.make_room(document_.pieces());
  const replay::MemoryId memory = report::main_memory(analysis, process.findings, plan_.options.memory);
  page_.add(analysis, process.findings, memory,
            first ? kLeadingPart : kOthersPart / static_cast<double>(processes_.size() - 1));
  if (!first) return;
  documents_.explain = document([&] {
    return report::json_line(
        report::explain_json(report::explain(analysis, memory, std::nullopt), std::nullopt));
  });
  documents_.first_vs_steady = document([&] { return first_and_typical_json(analysis, memory); });
}

// Returns the ranks, the causes across processes, the leading process in full, and a line for each other
// process. With `all`, each in full. Any rank may turn out to differ from the others, and only then its trace
// is read again for its text.
std::string JobReport::text(const std::string& causes) {
  const std::size_t leading = report::shown_in_full(summaries_, differences_.outliers);
  std::string out = report::ranks_text(summaries_, differences_, plan_.style.screen);
  std::vector<std::string>& texts = causes.empty() ? texts_ : beside_;
  if (texts[leading].empty()) {
    ProcessReport again = report_of(added_[leading], true);
    texts[leading] = std::move(causes.empty() ? again.text : again.beside);
  }
  out += causes;
  if (!causes.empty()) out += "\n";
  out += texts[leading];
  out += report::others_text(summaries_, leading, plan_.style.screen);
  for (std::size_t i = 0; plan_.style.all && i < texts.size(); ++i)
    if (i != leading) out += "\n" + texts[i];
  if (family_)
    out += plan_.style.all ? report::family_text(*family_, plan_.style.screen)
                           : report::family_line(*family_, plan_.style.screen);
  return out;
}

void JobReport::write(const std::string& postmortem, const files::TakePart& take) {
  take_ = &take;
  analyze_all();
  if (added_.empty()) throw report::UsageError(failed_);
  differences_.outliers = ranks_.outliers();
  differences_.capacity = capacity_.limits();
  const report::HostClocks clocks(steps_);
  differences_.death = report::first_death(processes_, clocks);
  std::string causes;
  for (const report::JobFinding& found : across_.find()) {
    causes += report::finding_text(found.finding, plan_.style);
    document_.add(found);
  }
  for (const report::Outlier& outlier : differences_.outliers) document_.add(outlier);
  if (plan_.form == Form::text) return give({text(causes)});
  const std::vector<std::string> rest =
      std::move(document_).take({{"host_outliers", report::host_outliers_json(differences_.hosts)},
                                 {"first_to_fail", report::first_death_json(differences_.death)},
                                 {"clocks", report::clocks_json(clocks)},
                                 {"gib_hours", report::capacity_json(differences_.capacity)}});
  if (plan_.form == Form::json) return give(rest);
  for (const std::string& piece : rest) documents_.report += piece;
  documents_.postmortem = postmortem;
  give({std::move(page_).take(documents_, text(causes))});
}

} // namespace memtrace::cli
