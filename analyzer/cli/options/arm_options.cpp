// Purpose: the options of `memtrace arm`.
#include <CLI/CLI.hpp>

#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {
namespace {

void add_number(CLI::App& command, const char* name, std::uint32_t& number, const char* help,
                const char* type) {
  command.add_option(name, number, help)->type_name(type)->check(check_number);
}

} // namespace

void add_arm(CLI::App& app, const std::function<void(const ArmArguments&)>& parsed) {
  const auto arguments = std::make_shared<ArmArguments>();
  CLI::App* const command =
      app.add_subcommand("arm", "have a process that was started with MEMTRACE=armed record from now on");
  CLI::Option* const pid =
      command
          ->add_option_function<std::uint32_t>(
              "PID", [arguments](std::uint32_t value) { arguments->pid = value; }, "the process")
          ->type_name("")
          ->check(check_number);
  CLI::Option* const job =
      command
          ->add_option_function<std::string>(
              "--job", [arguments](const std::string& value) { arguments->job = value; },
              "instead: all armed processes of this job on this host; its id, or the directory of its traces")
          ->type_name("ID|DIR")
          ->excludes(pid);
  command
      ->add_option_function<std::uint32_t>(
          "--rank", [arguments](std::uint32_t value) { arguments->rank = value; }, "of the job, only this rank")
      ->type_name("N")
      ->check(check_number)
      ->needs(job);
  add_number(*command, "--steps", arguments->steps,
             "stop after at least this many whole steps (record until the process ends)", "N");
  add_number(*command, "--wait", arguments->wait, "seconds to wait for the answer (10)", "N");
  command->callback([arguments, parsed] {
    if (!arguments->pid && !arguments->job)
      throw CLI::ValidationError("arm", "expected a PID, or --job ID, as in: memtrace arm 4242 --steps 5");
    parsed(*arguments);
  });
}

} // namespace memtrace::cli
