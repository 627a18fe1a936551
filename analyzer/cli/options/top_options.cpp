// Purpose: the options of `memtrace top`.
#include <fmt/core.h>

#include <charconv>
#include <memory>

#include "analyzer/cli/options/shared_options.h"
#include "analyzer/cli/options/subcommands.h"

namespace memtrace::cli {
namespace {

constexpr double kShortest = 0.1, kLongest = 3600; // seconds

// CLI::Range takes nan.
std::string check_interval(const std::string& text) {
  double seconds = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, seconds);
  if (error == std::errc() && end == last && seconds >= kShortest && seconds <= kLongest) return "";
  return fmt::format("{} is not a number of seconds from {} to {}", text, kShortest, kLongest);
}

} // namespace

void add_top(CLI::App& app, const std::function<void(const TopArguments&)>& parsed) {
  const auto arguments = std::make_shared<TopArguments>();
  CLI::App* const command = app.add_subcommand("top", "live view of a process or a job that runs");
  command
      ->add_option("TARGET", arguments->target,
                   "a pid, a trace or a directory of traces; the newest job under memtrace-out by default")
      ->type_name("PID|TRACE|DIR");
  command->add_flag("--once", arguments->once, "print one screen to stdout, as plain text");
  command->add_option("--interval", arguments->interval, "seconds between two refreshes (2)")
      ->type_name("SECONDS")
      ->check(check_interval);
  command->callback([arguments, parsed] { parsed(*arguments); });
}

} // namespace memtrace::cli
