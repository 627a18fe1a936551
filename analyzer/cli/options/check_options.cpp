// Purpose: the options of `memtrace check`.
#include <charconv>
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {
namespace {

// Takes "5%" and "5". Returns nullopt if it is not a percentage from 0 to 1000.
std::optional<double> percent_of(std::string text) {
  if (text.ends_with('%')) text.pop_back();
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !(value >= 0 && value <= 1000)) return std::nullopt;
  return value;
}

std::string check_percent(const std::string& text) {
  return percent_of(text) ? "" : text + " is not a percentage, as in 5%";
}

} // namespace

void add_check(CLI::App& app, const std::function<void(const CheckArguments&)>& parsed) {
  const auto arguments = std::make_shared<CheckArguments>();
  CLI::App* const command =
      app.add_subcommand("check", "compare a run with budgets or with an earlier run; exit 1 if one is broken");
  add_trace(*command, arguments->trace);
  command
      ->add_option("--max", arguments->max,
                   "a budget, as in 'peak(host, tensor) <= 2GiB', 'phase(forward) <= 1G', 'leak() <= 0' or "
                   "'findings() <= 0'; may be given several times")
      ->type_name("'EXPRESSION <= SIZE'")
      ->allow_extra_args(false);
  CLI::Option* const baseline =
      command
          ->add_option("--baseline", arguments->baseline,
                       "compare with this earlier report, which report --format json -o FILE wrote")
          ->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "--tolerance", [arguments](const std::string& text) { arguments->tolerance = *percent_of(text); },
          "how far a figure may exceed that of the baseline (default: 5%)")
      ->type_name("PERCENT")
      ->check(check_percent)
      ->needs(baseline);
  add_format(*command, arguments->format, {"text", "github"});
  command->add_option("--junit", arguments->junit, "also write a JUnit report in XML to this file")
      ->type_name("FILE");
  command->add_flag("--all", arguments->all, "also list the budgets of the baseline that are kept");
  add_reading(*command);
  command->callback([arguments, parsed] {
    if (arguments->max.empty() && arguments->baseline.empty())
      throw CLI::ValidationError("check", "expected --max 'EXPRESSION <= SIZE' or --baseline FILE");
    parsed(*arguments);
  });
}

} // namespace memtrace::cli
