// Purpose: `memtrace diff`.
#include "analyzer/cli/commands/diff_command.h"

#include <fmt/core.h>

#include "analyzer/cli/commands/report_page.h"
#include "analyzer/cli/common/main_process.h"
#include "analyzer/explain/first_step.h"
#include "analyzer/findings/process/leak_per_step.h"
#include "analyzer/print/json/diff_json.h"
#include "analyzer/print/json/document.h"
#include "analyzer/print/text/diff_text.h"
#include "analyzer/print/text/first_step_text.h"

namespace memtrace::cli {
namespace {

report::Diff within(const DiffArguments& arguments, report::ProcessAnalysis& analysis) {
  const report::Compared of = report::compared_in(analysis, memory_of(analysis, arguments.memory));
  const std::string phase_a = arguments.phases.empty() ? "" : arguments.phases.front();
  const std::string phase_b = arguments.phases.empty() ? "" : arguments.phases.back();
  if (arguments.first_vs_steady)
    return report::difference(of, report::first_step(analysis, of, phase_a),
                              report::steady_step(analysis, of, phase_b));
  std::optional<replay::Step> step_a, step_b;
  if (arguments.steps) {
    step_a = static_cast<replay::Step>(arguments.steps->from);
    step_b = static_cast<replay::Step>(arguments.steps->to);
  }
  return report::difference(of, report::one_place(analysis, of, step_a, phase_a),
                            report::one_place(analysis, of, step_b, phase_b));
}

std::string written(const DiffArguments& arguments, const report::Diff& diff) {
  if (arguments.format == "json") return report::json_text(report::diff_json(diff, arguments.top)) + "\n";
  return report::diff_text(diff, arguments.top, screen_of(arguments.output));
}

// Returns the comparison of the first step with a typical one: first what the first step added, then row by
// row.
std::string first_and_typical(const DiffArguments& arguments, report::ProcessAnalysis& analysis) {
  const report::Diff diff = within(arguments, analysis);
  report::Findings leaks = report::find_leaks(analysis);
  std::erase_if(leaks, [&diff](const report::Finding& leak) { return leak.memory != diff.of.memory; });
  std::vector<format::StackId> leaked;
  for (const report::Finding& leak : leaks) leaked.insert(leaked.end(), leak.stacks.begin(), leak.stacks.end());
  const report::FirstStep first = report::compare_first_step(analysis, diff.of.memory, leaked);
  if (arguments.format != "json")
    return report::first_step_text(first, leaks, screen_of(arguments.output)) + written(arguments, diff);
  report::Json out = report::diff_json(diff, arguments.top);
  out["first_step"] = {{"for_good", first.for_good}, {"only_then", first.only_then}};
  return report::json_text(out) + "\n";
}

// Returns a page with both runs.
std::string page(const DiffArguments& arguments, report::ProcessAnalysis& a, report::ProcessAnalysis& b,
                 const report::Diff& diff) {
  constexpr double kPart = 0.4;
  report::Options options;
  options.compact = true;
  report::Document document(options);
  ReportPage out(kPageSize);
  for (report::ProcessAnalysis* const run : {&a, &b}) {
    const report::Findings findings = report::find(*run);
    document.add(*run, findings);
    out.add(*run, findings, diff.of.memory, kPart);
  }
  ReportPage::Documents documents;
  for (const std::string& piece : std::move(document).take()) documents.report += piece;
  documents.diff = report::json_line(report::diff_json(diff, arguments.top));
  return std::move(out).take(documents, report::diff_text(diff, arguments.top, screen_of(-1)));
}

std::string two_runs(const DiffArguments& arguments, report::ProcessAnalysis& a, const std::string& name_a,
                     report::ProcessAnalysis& b, const std::string& name_b) {
  report::Compared of = report::compared_in(a, b, memory_of(a, arguments.memory));
  report::Compared of_b = of;
  if (!arguments.ranks.empty() && of.memory != 0) { // each rank of a host may have its own GPU
    of = report::compared_in(a, of.memory);
    of_b = report::compared_in(b, memory_of(b, arguments.memory));
    if (of.measure != of_b.measure) of.measure = of_b.measure = replay::Measure::live;
  }
  const report::Diff diff =
      report::difference(of, report::whole_run(a, of, name_a), report::whole_run(b, of_b, name_b));
  return arguments.format == "html" ? page(arguments, a, b, diff) : written(arguments, diff);
}

} // namespace

std::string first_and_typical_json(report::ProcessAnalysis& analysis, replay::MemoryId memory) {
  DiffArguments arguments;
  arguments.first_vs_steady = true;
  arguments.memory = report::memory_name(memory);
  arguments.format = "json";
  return first_and_typical(arguments, analysis);
}

int diff_command(const DiffArguments& arguments) {
  if (arguments.format == "html") check_page(arguments.output);
  return answer(arguments.output, [&](Meter& meter) {
    const std::string first = arguments.traces.empty() ? "" : arguments.traces.front();
    if (!arguments.ranks.empty()) {
      const std::uint32_t one = arguments.ranks.front(), other = arguments.ranks.back();
      const auto [a, b] = rank_views(first, one, other, meter);
      return two_runs(arguments, *a, fmt::format("rank {}", one), *b, fmt::format("rank {}", other));
    }
    const auto a = main_view(first, meter);
    if (arguments.first_vs_steady) return first_and_typical(arguments, *a);
    if (arguments.traces.size() != 2) return written(arguments, within(arguments, *a));
    return two_runs(arguments, *a, "a", *main_view(arguments.traces.back(), meter), "b");
  });
}

} // namespace memtrace::cli
