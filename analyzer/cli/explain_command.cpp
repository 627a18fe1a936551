// Room: cli.
// Job: `memtrace explain`.
#include "cli/explain_command.h"

#include <unistd.h>

#include "cli/one_view.h"
#include "cli/processes.h"
#include "cli/usage.h"
#include "report/diff.h"
#include "report/explain.h"

namespace memtrace::cli {

int explain_command(const ExplainArguments& arguments) {
  Meter meter(STDERR_FILENO);
  std::string text;
  try {
    const auto view = main_view(arguments.trace, meter);
    const report::Explanation explanation =
        report::explain(*view, memory_of(*view, arguments.memory), arguments.parameters);
    text = arguments.format == "json"
               ? report::explain_json(explanation, arguments.project).dump(2) + "\n"
               : report::explain_text(explanation, arguments.project, in_color(arguments.output));
  } catch (const report::Nothing& nothing) {
    throw Usage(nothing.why);
  }
  meter.clear();
  write_all(text, arguments.output);
  return 0;
}

} // namespace memtrace::cli
