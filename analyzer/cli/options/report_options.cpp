// Purpose: the options of `memtrace report`.
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_report(CLI::App& app, const std::function<void(const ReportArguments&)>& parsed) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App* const command =
      app.add_subcommand("report", "which lines held memory at the peak, in which phase, and why");
  add_trace(*command, arguments->trace);
  add_memory(*command, arguments->memory);
  add_steps(*command, arguments->options.steps.range, true,
            "show steps A to B one by one; the first is 0; default: step 0, the peak's and a typical one");
  command->add_flag("--all-steps", arguments->options.steps.all, "show each step");
  command->add_flag(
      "--all", arguments->all,
      "show all details: a row for each site, one for the small sites of a line, resident memory as a table, "
      "each process in full");
  command->add_flag("--compact", arguments->options.compact,
                    "JSON: give the stack of a row by its id alone; the object `sites` has the stacks");
  const CLI::Option* const top = add_top(*command, arguments->options.top,
                                         "number of rows of what is alive at a peak (text: 12; JSON: 20)");
  add_output(*command, arguments->format, arguments->output);
  add_reading(*command);
  command->callback([arguments, top, parsed] {
    if (!arguments->memory.empty()) arguments->options.memory = arguments->memory;
    arguments->top_given = top->count() != 0;
    parsed(*arguments);
  });
}

} // namespace memtrace::cli
