// Purpose: the commands of memtrace with their options, for the parser, the man pages and the completion.
#include "analyzer/cli/options/command_table.h"

#include <CLI/CLI.hpp>

#include "analyzer/cli/options/subcommands.h"

#ifndef MEMTRACE_VERSION
#error "the build says which version this is"
#endif

namespace memtrace::cli {
namespace {

constexpr const char* kRun = "run";

} // namespace

std::unique_ptr<CLI::App> command_table(const std::vector<std::string>& traced,
                                        const std::function<void(const Command&)>& parsed) {
  const auto keep = [parsed](const auto& arguments) { parsed(arguments); };
  auto app = std::make_unique<CLI::App>(
      "Records where the memory of a program goes, and explains it. Begin with: memtrace run -- python "
      "train.py; memtrace report",
      "memtrace");
  app->require_subcommand(1);
  app->set_version_flag("--version", std::string("memtrace ") + MEMTRACE_VERSION);
  add_report(*app, keep);
  add_diff(*app, keep);
  add_explain(*app, keep);
  add_postmortem(*app, keep);
  add_tree(*app, keep);
  add_top(*app, keep);
  add_check(*app, keep);
  add_export(*app, keep);
  add_fleet(*app, keep);
  add_pack(*app, keep);
  add_unpack(*app, keep);
  add_run(*app, traced, keep);
  add_env(*app, keep);
  add_arm(*app, keep);
  add_jupyter(*app, keep);
  add_mcp(*app, keep);
  add_doctor(*app, keep);
  return app;
}

bool starts_a_program(const std::string& command) {
  return command == kRun;
}

} // namespace memtrace::cli
