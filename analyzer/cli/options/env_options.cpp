// Purpose: the options of `memtrace env`.
#include <memory>

#include "analyzer/cli/options/recorder_options.h"
#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_env(CLI::App& app, const std::function<void(const EnvArguments&)>& parsed) {
  const auto arguments = std::make_shared<EnvArguments>();
  const auto unset = std::make_shared<bool>(false);
  CLI::App* const command = app.add_subcommand(
      "env", "print the variables that record what a shell starts next: eval \"$(memtrace env)\"");
  add_recorder_options(*command, arguments->variables);
  command->add_flag("--unset", *unset, "print the lines that remove all of these variables");
  add_format(*command, arguments->format, {"sh", "json"});
  command->callback([arguments, unset, parsed] {
    if (*unset && !arguments->variables.empty())
      throw CLI::ValidationError("env", "--unset undoes all variables; give it alone, or with --format");
    if (*unset)
      for (const RecorderOption& one : recorder_options()) arguments->unset.emplace_back(one.variable);
    parsed(*arguments);
  });
}

} // namespace memtrace::cli
