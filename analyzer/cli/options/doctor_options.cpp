// Purpose: the options of `memtrace doctor`.
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_doctor(CLI::App& app, const std::function<void(const DoctorArguments&)>& parsed) {
  const auto arguments = std::make_shared<DoctorArguments>();
  CLI::App* const command = app.add_subcommand(
      "doctor",
      "whether memtrace can record programs on this machine, and what limits it; exits with 1 if it cannot");
  add_output(*command, arguments->format, arguments->output);
  command->callback([arguments, parsed] { parsed(*arguments); });
}

} // namespace memtrace::cli
