// Room: cli.
// Job: `memtrace diff`.
#include "cli/diff_command.h"

#include <unistd.h>

#include <cstdlib>

#include "cli/find.h"
#include "cli/meter.h"
#include "cli/processes.h"
#include "cli/usage.h"
#include "report/diff.h"

namespace memtrace::cli {
namespace {

// The first process of a job: its main one.
std::unique_ptr<report::View> view_of(const std::string& argument, Meter& meter) {
  std::vector<Process> processes = survey(find_traces(argument), {}, meter);
  Process& main = processes.front();
  if (!main.trace) main.trace = std::make_unique<trace::Trace>(main.path, &meter);
  return report::view(std::move(main.trace), main.kind, main.end, {});
}

fold::MemoryId memory_of(const DiffArguments& arguments, const report::View& view) {
  const std::optional<std::string> asked =
      arguments.memory.empty() ? std::nullopt : std::optional(arguments.memory);
  const fold::MemoryId memory = report::main_memory(view, asked);
  if (asked && report::memory_name(memory) != *asked)
    throw Usage("--memory " + *asked + ": not in this trace; expected host or one of its devices, cuda:N");
  return memory;
}

report::Diff within(const DiffArguments& arguments, report::View& view) {
  const fold::MemoryId memory = memory_of(arguments, view);
  const std::string phase_a = arguments.phases.empty() ? "" : arguments.phases.front();
  const std::string phase_b = arguments.phases.empty() ? "" : arguments.phases.back();
  if (arguments.first_vs_steady)
    return report::difference(memory, report::first_step(view, memory, phase_a),
                              report::steady_step(view, memory, phase_b));
  std::optional<fold::Step> step_a, step_b;
  if (arguments.steps) {
    step_a = static_cast<fold::Step>(arguments.steps->from);
    step_b = static_cast<fold::Step>(arguments.steps->to);
  }
  return report::difference(memory, report::one_place(view, memory, step_a, phase_a),
                            report::one_place(view, memory, step_b, phase_b));
}

std::string written(const DiffArguments& arguments, const report::Diff& diff) {
  if (arguments.format == "json") return report::diff_json(diff, arguments.top).dump(2) + "\n";
  const bool color =
      arguments.output.empty() && ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return report::diff_text(diff, arguments.top, color);
}

} // namespace

int diff_command(const DiffArguments& arguments) {
  Meter meter(STDERR_FILENO);
  std::string text;
  try {
    const auto a = view_of(arguments.traces.empty() ? "" : arguments.traces.front(), meter);
    if (arguments.traces.size() == 2) {
      const auto b = view_of(arguments.traces.back(), meter);
      const fold::MemoryId memory = memory_of(arguments, *a);
      text = written(arguments, report::difference(memory, report::whole_run(*a, memory, "a"),
                                                   report::whole_run(*b, memory, "b")));
    } else {
      text = written(arguments, within(arguments, *a));
    }
  } catch (const report::Nothing& nothing) {
    throw Usage(nothing.why);
  }
  meter.clear();
  write_all(text, arguments.output);
  return 0;
}

} // namespace memtrace::cli
