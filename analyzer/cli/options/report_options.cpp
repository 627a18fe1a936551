// Purpose: the options of `memtrace report`.
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_report(CLI::App& app, const std::function<void(const ReportArguments&)>& parsed) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App* const command = app.add_subcommand("report", "who held what, in which phase, and when it peaked");
  add_trace(*command, arguments->trace);
  add_memory(*command, arguments->memory);
  add_steps(*command, arguments->options.steps.range, true, "these steps one by one");
  command->add_flag("--all-steps", arguments->options.steps.all, "every step");
  command->add_flag("--all", arguments->all,
                    "all details: a row for each site, the ledgers as tables, each process in full");
  command->add_flag("--compact", arguments->options.compact,
                    "JSON: the site of a row by its id alone; `sites` has them");
  const CLI::Option* const top =
      add_top(*command, arguments->options.top, "rows of what a peak holds (20; text: 12)");
  add_output(*command, arguments->format, arguments->output);
  add_reading(*command);
  command->callback([arguments, top, parsed] {
    if (!arguments->memory.empty()) arguments->options.memory = arguments->memory;
    arguments->top_given = top->count() != 0;
    parsed(*arguments);
  });
}

} // namespace memtrace::cli
