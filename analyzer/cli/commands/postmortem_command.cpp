// Purpose: `memtrace postmortem`.
#include "analyzer/cli/commands/postmortem_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/progress_meter.h"
#include "analyzer/cli/common/screen.h"
#include "analyzer/findings/all_findings.h"
#include "analyzer/job/job_survey.h"
#include "analyzer/job/process_order.h"
#include "analyzer/job/trace_lookup.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/print/json/document.h"
#include "analyzer/print/json/postmortem_json.h"
#include "analyzer/print/text/postmortem_text.h"

namespace memtrace::cli {
namespace {

constexpr double kAtOnce = 0.5; // s: longest time between the ends of processes that one kill ended

// Returns the index of the process to explain: the first that died for memory. If none did, the first that
// ended in the next worst way.
std::size_t subject(const std::vector<report::Process>& processes, const PostmortemArguments& arguments) {
  std::size_t best = processes.size();
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (arguments.rank && processes[i].facts.rank != *arguments.rank) continue;
    if (best == processes.size()) {
      best = i;
      continue;
    }
    const report::Gravity weight = gravity(processes[i]), least = gravity(processes[best]);
    const bool earlier = report::ended_after(processes[i], processes[best]) < 0;
    if (weight < least || (weight == least && weight != report::Gravity::other && earlier)) best = i;
  }
  if (best == processes.size())
    throw report::UsageError(
        fmt::format("--rank {}: no process of this job has it; leave it out to see them all", *arguments.rank));
  return best;
}

// Returns nullopt if the process had not started by then, or had ended: `later` s after that time.
std::optional<trace::ProcessSample> sample_at(const report::Process& process, double unix, double later) {
  const trace::Facts& facts = process.facts;
  const double since = unix - static_cast<double>(facts.start_unix_ns) / 1e9;
  if (since < 0 || (process.end.how != "running" && later < -kAtOnce)) return std::nullopt;
  const trace::ProcessSample* const sample =
      process.samples.process_at(facts.start_stamp + static_cast<format::Stamp>(since * 1e9));
  return sample == nullptr ? std::nullopt : std::optional(*sample);
}

std::vector<report::JobPeer> others(const std::vector<report::Process>& processes, std::size_t subject) {
  std::vector<report::JobPeer> out;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const report::Process& process = processes[i];
    if (i == subject) continue;
    const double later = report::ended_after(process, processes[subject]);
    const bool beside = process.facts.host == processes[subject].facts.host;
    out.push_back({process.facts.pid, process.kind, process.facts.rank, process.end, later,
                   sample_at(process, report::last_unix(processes[subject]), later),
                   beside ? process.directory : "", beside});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const report::JobPeer& a, const report::JobPeer& b) { return a.later < b.later; });
  return out;
}

std::unique_ptr<report::ProcessAnalysis> open(report::Process& process, const report::Options& options,
                                              Meter& meter) {
  if (!process.trace) process.trace = std::make_unique<trace::Trace>(process.path, &meter);
  return report::analyze_process(std::move(process.trace), process.kind, process.end, options);
}

// Returns how each ended process ended, in the order of their ends.
report::Json order_json(const std::vector<report::Process>& processes, const report::Process& first) {
  std::vector<std::pair<double, const report::Process*>> ended;
  for (const report::Process& process : processes) {
    if (process.end.how != "running") ended.emplace_back(report::ended_after(process, first), &process);
  }
  std::stable_sort(ended.begin(), ended.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  report::Json out = report::Json::array();
  for (const auto& [later, process] : ended)
    out.push_back(
        {{"pid", process->facts.pid}, {"how", process->end.how}, {"unix", report::last_unix(first) + later}});
  return out;
}

std::string text_of(std::vector<report::Process>& processes, std::size_t chosen, const report::Screen& screen,
                    Meter& meter) {
  report::TextStyle style;
  style.screen = screen;
  const auto analysis = open(processes[chosen], {}, meter);
  return report::postmortem_text(*analysis, report::find(*analysis), others(processes, chosen), style);
}

std::vector<std::string> json_of(std::vector<report::Process>& processes, std::size_t chosen,
                                 const PostmortemArguments& arguments, Meter& meter) {
  const report::Options options;
  report::Document document(options, report::Schema::postmortem);
  report::Json ledger = report::Json::array();
  for (report::Process& process : processes) {
    if (arguments.rank && process.facts.rank != *arguments.rank) continue;
    const auto analysis = open(process, options, meter); // one at a time: peak memory is that of the largest
    document.add(*analysis, report::find(*analysis));
    if (&process == &processes[chosen] && analysis->death)
      ledger.push_back(report::ledger_json(report::job_ledger(*analysis, others(processes, chosen))));
  }
  const report::Json first = gravity(processes[chosen]) != report::Gravity::other
                                 ? report::Json(processes[chosen].facts.pid)
                                 : report::Json(nullptr);
  return std::move(document).take(
      {{"ledger", std::move(ledger)}, {"first", first}, {"order", order_json(processes, processes[chosen])}});
}

} // namespace

std::optional<std::string> postmortem_of_kill(const std::vector<std::string>& traces,
                                              const report::Screen& screen) {
  if (traces.empty()) return std::nullopt;
  Meter meter(STDERR_FILENO);
  std::vector<report::Process> processes = report::survey(traces, {}, meter);
  const std::size_t chosen = subject(processes, {});
  if (gravity(processes[chosen]) != report::Gravity::died_for_memory) return std::nullopt;
  std::string text = text_of(processes, chosen, screen, meter);
  meter.clear();
  return text;
}

std::vector<std::string> explain(const PostmortemArguments& arguments, const report::Screen& screen) {
  Meter meter(STDERR_FILENO);
  std::vector<report::Process> processes =
      report::survey(report::find_traces(arguments.trace, arguments.attempt), arguments.evidence, meter);
  const std::size_t chosen = subject(processes, arguments);
  return arguments.format == "json" ? json_of(processes, chosen, arguments, meter)
                                    : std::vector{text_of(processes, chosen, screen, meter)};
}

std::string postmortem_json(const std::string& trace) {
  PostmortemArguments arguments;
  arguments.trace = trace;
  arguments.format = "json";
  std::string out;
  for (const std::string& piece : explain(arguments, {})) out += piece;
  return out;
}

int postmortem_command(const PostmortemArguments& arguments) {
  write_all({explain(arguments, screen_of(arguments.output))}, arguments.output);
  return 0;
}

} // namespace memtrace::cli
