// Purpose: the options of `memtrace explain`.
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_explain(CLI::App& app, const std::function<void(const ExplainArguments&)>& parsed) {
  const auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* const command = app.add_subcommand(
      "explain", "what a model's memory is made of, in bytes per parameter, compared with theory");
  add_trace(*command, arguments->trace);
  add_count(*command, "--params", arguments->parameters,
            "number of parameters, as in 7e9; default: the number that the trace has");
  add_count(*command, "--project", arguments->project,
            "also print what a model of COUNT parameters would take, as in 80e9");
  add_memory(*command, arguments->memory);
  add_output(*command, arguments->format, arguments->output);
  add_reading(*command);
  command->callback([arguments, parsed] { parsed(*arguments); });
}

} // namespace memtrace::cli
