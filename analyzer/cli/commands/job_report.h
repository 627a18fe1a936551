// Purpose: collects the report of a job from those of its processes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/commands/process_report.h"
#include "analyzer/cli/commands/report_page.h"
#include "analyzer/cli/common/progress_meter.h"
#include "analyzer/files/writing.h"
#include "analyzer/print/json/document.h"
#include "analyzer/print/text/job_text.h"

namespace memtrace::cli {

// Analyzes the processes of a job on several threads, and adds them in their order. Peak memory is that of the
// processes that are analyzed at the same time, not of all together. The output does not depend on the number
// of threads.
class JobReport {
 public:
  // `page_size`: bytes of an HTML page, about.
  JobReport(ReportPlan plan, std::uint64_t page_size, std::vector<report::Process>& processes, Meter& meter);

  // Gives the report to `take`, in pieces. `postmortem`: what `memtrace postmortem --format json` prints, for a
  // page; "" if no process died for memory. Throws UsageError if no process can be analyzed.
  void write(const std::string& postmortem, const files::TakePart& take);

 private:
  void analyze_all();
  void add(std::size_t number, ProcessReport process);
  ProcessReport report_of(std::size_t number, bool leading);
  void give(const std::vector<std::string>& pieces) const;
  void add_to_page(ProcessReport& process);
  std::string text(const std::string& causes);

  const ReportPlan plan_;
  std::vector<report::Process>& processes_;
  Meter& meter_;
  const files::TakePart* take_ = nullptr;
  report::Document document_;
  ReportPage page_;
  ReportPage::Documents documents_; // of the page
  report::JobFindings across_;
  report::Ranks ranks_;
  report::JobCapacity capacity_;
  std::vector<report::StepsOfRank> steps_;
  report::JobDifferences differences_;
  std::optional<report::Family> family_;
  std::string failed_;             // why the first process was left out; "": none was
  std::vector<std::size_t> added_; // the numbers of the processes in the report
  std::vector<report::ProcessSummary> summaries_;
  std::vector<std::string> texts_;  // of the same processes, in full; "": not made
  std::vector<std::string> beside_; // the same, below findings about several processes
};

} // namespace memtrace::cli
