// Purpose: `memtrace report`.
#include "analyzer/cli/commands/report_command.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "analyzer/cli/commands/job_report.h"
#include "analyzer/cli/commands/postmortem_command.h"
#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/progress_meter.h"
#include "analyzer/cli/common/screen.h"
#include "analyzer/job/job_survey.h"
#include "analyzer/job/process_order.h"
#include "analyzer/job/trace_lookup.h"

namespace memtrace::cli {
namespace {

// Of a peak: a page adds up the rows of a line, and a line of a large model has many sites.
constexpr std::size_t kPageRows = 200;

Form form_of(const std::string& format) {
  return format == "json" ? Form::json : format == "html" ? Form::html : Form::text;
}

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

// Gives the report to `take`, in pieces.
void write_report(const ReportArguments& arguments, const files::TakePart& take) {
  ReportPlan plan;
  plan.form = form_of(arguments.format);
  plan.options = options_of(arguments);
  plan.style = style_of(arguments, plan.options);
  Meter meter(STDERR_FILENO);
  std::vector<report::Process> processes = report::survey(report::find_traces(arguments.trace), {}, meter);
  plan.several = processes.size() > 1;
  plan.workers = std::any_of(processes.begin(), processes.end(),
                             [](const report::Process& process) { return process.kind == "worker"; });
  const bool died = std::any_of(processes.begin(), processes.end(), [](const report::Process& process) {
    return gravity(process) == report::Gravity::died_for_memory;
  });
  std::string postmortem;
  if (died && plan.form == Form::html) postmortem = postmortem_json(arguments.trace);
  JobReport job(std::move(plan), arguments.page_size, processes, meter);
  job.write(postmortem, [&](std::string_view piece) {
    meter.clear();
    take(piece);
  });
}

} // namespace

std::string report_json(const std::string& trace, std::size_t top) {
  ReportArguments arguments;
  arguments.trace = trace;
  arguments.format = "json";
  arguments.options.compact = true;
  arguments.options.top = top;
  std::string out;
  write_report(arguments, [&](std::string_view piece) { out += piece; });
  return out;
}

// The processes of a job follow each other, so its document need not be in memory as a whole.
int report_command(const ReportArguments& arguments) {
  if (arguments.format == "html") check_page(arguments.output);
  LateOutput out(arguments.output);
  write_report(arguments, [&](std::string_view piece) { out.write(piece); });
  out.finish();
  return 0;
}

} // namespace memtrace::cli
