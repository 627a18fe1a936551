// Purpose: the options of `memtrace pack` and `memtrace unpack`.
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_pack(CLI::App& app, const std::function<void(const PackArguments&)>& parsed) {
  const auto arguments = std::make_shared<PackArguments>();
  CLI::App* const command = app.add_subcommand(
      "pack", "put traces, evidence and symbols into one file to send, which every command reads");
  add_trace(*command, arguments->trace);
  command->add_option("-o", arguments->output, "write to this new file, as in run.memtrace.zst")
      ->type_name("FILE")
      ->required();
  command->add_flag("--redact", arguments->redact, "replace private names: paths, host names, arguments");
  add_reading(*command);
  command->callback([arguments, parsed] { parsed(*arguments); });
}

void add_unpack(CLI::App& app, const std::function<void(const UnpackArguments&)>& parsed) {
  const auto arguments = std::make_shared<UnpackArguments>();
  CLI::App* const command = app.add_subcommand("unpack", "write the files of a packed file into a directory");
  command->add_option("PACKED", arguments->packed, "a file that memtrace pack wrote")->required();
  command->add_option("-o", arguments->output, "write into this directory, which has none of the files")
      ->type_name("DIR")
      ->required();
  add_reading(*command);
  command->callback([arguments, parsed] { parsed(*arguments); });
}

} // namespace memtrace::cli
