// Purpose: the options of `memtrace mcp`.
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_mcp(CLI::App& app, const std::function<void(const McpArguments&)>& parsed) {
  const auto arguments = std::make_shared<McpArguments>();
  CLI::App* const command = app.add_subcommand(
      "mcp", "read traces for an editor or an assistant: a read-only MCP server on stdin and stdout");
  command->add_option("DIR", arguments->directories, "directories that it may read (memtrace-out)")
      ->type_name("");
  command
      ->add_option("--python", arguments->python,
                   "Python that has the package mcp (that of the wheel, else python3)")
      ->type_name("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command->callback([arguments, parsed] { parsed(*arguments); });
}

} // namespace memtrace::cli
