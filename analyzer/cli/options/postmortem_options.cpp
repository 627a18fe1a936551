// Purpose: the options of `memtrace postmortem`.
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_postmortem(CLI::App& app, const std::function<void(const PostmortemArguments&)>& parsed) {
  const auto arguments = std::make_shared<PostmortemArguments>();
  CLI::App* const command = app.add_subcommand(
      "postmortem", "how the process ended, which lines held memory then, what would have fit");
  add_trace(*command, arguments->trace);
  command->add_option("--rank", arguments->rank, "the process of this rank; default: the one that died first")
      ->type_name("N")
      ->check(check_number);
  command
      ->add_option(
          "--attempt", arguments->attempt,
          "if the job was started several times in one directory: 1 is the first start; default: the last")
      ->type_name("N")
      ->check(check_number);
  command
      ->add_option(
          "--evidence", arguments->evidence,
          "a pod's JSON, the output of sacct, or a log of the kernel or of a manager that kills (systemd-oomd, "
          "earlyoom, Ray, torchrun); kept beside the trace")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_output(*command, arguments->format, arguments->output);
  add_quick(*command);
  add_reading(*command);
  command->callback([arguments, parsed] { parsed(*arguments); });
}

} // namespace memtrace::cli
