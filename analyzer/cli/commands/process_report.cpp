// Purpose: what the report of a job needs of one process. Several threads may make it, each for another
// process.
#include "analyzer/cli/commands/process_report.h"

#include <optional>
#include <utility>

#include "analyzer/decode/read_error.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/job/process_order.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/print/json/document.h"

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

// Whether there are findings about several processes is known after the last process, so a process without
// findings has both texts.
void write_text(report::ProcessAnalysis& analysis, const ReportPlan& plan, ProcessReport& out) {
  out.text = report::process_text(analysis, out.findings, plan.options, plan.style);
  if (!out.findings.empty() || !plan.several) {
    out.beside = out.text;
    return;
  }
  report::TextStyle beside = plan.style;
  beside.beside_others = true;
  out.beside = report::process_text(analysis, out.findings, plan.options, beside);
}

report::StepsOfRank steps_of(const report::ProcessAnalysis& analysis) {
  const trace::Facts& facts = analysis.facts();
  report::StepsOfRank out{facts.rank, facts.host, {}};
  if (facts.rank == trace::kNoRank || analysis.kind == "worker" || analysis.kind == "child") return out;
  for (const replay::StepStart& start : analysis.step_starts)
    out.begins[static_cast<std::uint64_t>(start.step)] =
        static_cast<double>(facts.start_unix_ns) / 1e9 + analysis.seconds(start.stamp);
  return out;
}

ProcessReport read_process(report::Process& process, const ReportPlan& plan, bool leading,
                           const report::Family* family, trace::Progress& progress) {
  ProcessReport out;
  std::unique_ptr<trace::Trace> trace = std::move(process.trace);
  if (!trace) trace = std::make_unique<trace::Trace>(process.path, &progress);
  auto analysis = report::analyze_process(std::move(trace), process.kind, process.end, plan.options);
  out.findings = report::find(*analysis);
  if (leading) check_memory(plan.options, *analysis);
  out.across.add(*analysis, out.findings, plan.workers);
  out.ranks.add(*analysis);
  out.capacity.add(*analysis);
  out.steps = steps_of(*analysis);
  if (plan.form != Form::text)
    out.json = report::process_pieces(*analysis, out.findings, plan.options, report::Schema::report, family);
  if (plan.form == Form::json) return out;
  const bool died = gravity(process) == report::Gravity::died_for_memory;
  out.summary = report::summary_of(*analysis, out.findings, died);
  if (leading || plan.style.all) write_text(*analysis, plan, out);
  if (plan.form == Form::html) out.analysis = std::move(analysis);
  return out;
}

} // namespace

ProcessReport report_process(report::Process& process, const ReportPlan& plan, bool leading,
                             const report::Family* family, trace::Progress& progress) {
  if (!plan.several) return read_process(process, plan, leading, family, progress);
  ProcessReport out;
  try {
    return read_process(process, plan, leading, family, progress);
  } catch (const trace::ReadError& fault) {
    out.failed = fault.what();
  } catch (const files::OverBudget&) {
    out.failed = files::Budget::of_command().refusal();
  }
  return out;
}

} // namespace memtrace::cli
