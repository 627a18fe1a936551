// Purpose: what the report of a job needs of one process. Several threads may make it, each for another
// process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/findings/process/across_processes.h"
#include "analyzer/job/host_clocks.h"
#include "analyzer/job/job_process.h"
#include "analyzer/print/text/process_summary.h"
#include "analyzer/print/text/report_text.h"
#include "analyzer/rss/job_capacity.h"
#include "analyzer/rss/job_pss.h"
#include "analyzer/rss/rank_outliers.h"

namespace memtrace::cli {

enum class Form { text, json, html };

// What is the same for all processes of a report.
struct ReportPlan {
  Form form = Form::text;
  report::Options options;
  report::TextStyle style;
  bool workers = false; // the job has workers
  bool several = false; // the job has several processes
};

struct ProcessReport {
  std::string failed; // why there is nothing else; "": there is
  report::JobFindings across;
  report::Ranks ranks;
  report::JobCapacity capacity;
  report::StepsOfRank steps; // of a rank
  report::ProcessSummary summary;
  std::string text;              // the process in full; "": not wanted
  std::string beside;            // the same, below findings about several processes
  std::vector<std::string> json; // the object of the process
  // Only for a page.
  std::unique_ptr<report::ProcessAnalysis> analysis;
  report::Findings findings;
};

// Opens the trace if the survey did not leave it open. `leading`: it is the process that the report leads with.
// `family`: of the job, or null. Of several processes, one whose trace cannot be read gets `failed`. Throws
// what the analysis throws otherwise.
ProcessReport report_process(report::Process& process, const ReportPlan& plan, bool leading,
                             const report::Family* family, trace::Progress& progress);

} // namespace memtrace::cli
