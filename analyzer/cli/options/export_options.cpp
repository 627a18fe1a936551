// Purpose: the options of `memtrace export`.
#include <iterator>
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {

void add_export(CLI::App& app, const std::function<void(const ExportArguments&)>& parsed) {
  const auto arguments = std::make_shared<ExportArguments>();
  const std::vector<std::string> formats(std::begin(kExportFormats), std::end(kExportFormats));
  CLI::App* const command =
      app.add_subcommand("export", "write what other tools read: a profile, a timeline, a database");
  add_trace(*command, arguments->trace);
  command->add_option("--to", arguments->to, "format of the file")
      ->type_name(CLI::detail::join(formats, "|"))
      ->required()
      ->check(CLI::IsMember(formats).description(""));
  add_memory(*command, arguments->memory);
  command->add_option("-o", arguments->output, "write to this file, and replace it if it exists (stdout)")
      ->type_name("FILE");
  command
      ->add_option("--python", arguments->python,
                   "Python that has pyarrow, for parquet (that of the wheel, else python3)")
      ->type_name("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_reading(*command);
  command->callback([arguments, parsed] { parsed(*arguments); });
}

} // namespace memtrace::cli
