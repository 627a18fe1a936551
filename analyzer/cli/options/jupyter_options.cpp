// Purpose: the options of `memtrace jupyter`.
#include <memory>

#include "analyzer/cli/options/recorder_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_jupyter(CLI::App& app, const std::function<void(const JupyterArguments&)>& parsed) {
  const auto arguments = std::make_shared<JupyterArguments>();
  const auto action = std::make_shared<std::string>();
  const auto user = std::make_shared<bool>(false);
  CLI::App* const command =
      app.add_subcommand("jupyter", "add a kernel to Jupyter whose cells are phases: memtrace jupyter install");
  command->add_option("ACTION", *action, "install: write the kernel, or replace it")
      ->type_name("")
      ->check(CLI::IsMember(std::vector<std::string>{"install"}).description(""));
  command->add_flag("--user", *user, "for this user (default)");
  command->add_option("--prefix", arguments->prefix, "below this folder, as in /usr/local")->type_name("DIR");
  command->add_flag("--sys-prefix", arguments->sys_prefix, "in the environment of the kernel's Python");
  command->add_option("--name", arguments->name, "name of the kernel (memtrace)")->type_name("NAME");
  command
      ->add_option("--display-name", arguments->display_name, "name that Jupyter shows (Python 3 (memtrace))")
      ->type_name("TEXT");
  command->add_option("--python", arguments->python, "Python of the kernel (that of the wheel, else python3)")
      ->type_name("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_recorder_options(*command, arguments->variables);
  command->callback([arguments, action, user, parsed] {
    if (action->empty()) throw CLI::ValidationError("jupyter", "say what to do: memtrace jupyter install");
    if (int{*user} + int{arguments->sys_prefix} + int{!arguments->prefix.empty()} > 1)
      throw CLI::ValidationError("jupyter", "give one of --user, --prefix and --sys-prefix");
    parsed(*arguments);
  });
}

} // namespace memtrace::cli
