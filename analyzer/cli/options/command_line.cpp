// Purpose: parses argv into a command and its arguments.
#include "analyzer/cli/options/command_line.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <vector>

#include "analyzer/cli/options/command_table.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {
namespace {

std::string commands_of(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    out += (out.empty() ? "" : ", ") + command->get_name();
  return out;
}

// Throws if `name` is not a subcommand of `app`.
void check_name(const CLI::App& app, const std::string& name) {
  if (name.starts_with('-')) return;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == name) return;
  throw report::UsageError(name + ": no such command; this version has " + commands_of(app));
}

// Returns what is wrong with the words that no option takes. CLI11 lists them from the last to the first.
std::string unknown_words(const std::vector<std::string>& words, bool is_run) {
  if (words.front().starts_with('-')) return "no such option: " + words.front();
  std::string line = is_run ? "put -- before the program: memtrace run --" : "these words were not expected:";
  for (const std::string& word : words) line += " " + word;
  return line;
}

// Returns CLI11's text, in one line.
std::string text_of(const CLI::App& app, const CLI::ParseError& error) {
  std::string line = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<CLI::App*> given = app.get_subcommands();
    line = unknown_words(app.remaining(true), !given.empty() && given.front()->get_name() == "run");
  }
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::string line = text_of(app, error);
  const std::vector<CLI::App*> given = app.get_subcommands();
  throw report::UsageError(line + "; see memtrace " + (given.empty() ? "" : given.front()->get_name() + " ") +
                           "--help");
}

} // namespace

Command parse(int argc, const char* const* argv) {
  // The words after "--" belong to the traced command, even if they look like options.
  const char* const* end = argv + argc;
  const char* const* dashes =
      std::find_if(argv, end, [](const char* argument) { return argument == std::string("--"); });
  const bool is_run = argc > 1 && starts_a_program(argv[1]);
  const std::vector<std::string> traced(dashes == end ? end : dashes + 1, end);

  Command command;
  const auto table = command_table(traced, [&command](const Command& given) { command = given; });
  CLI::App& app = *table;
  if (argc <= 1)
    throw report::UsageError("no command is given; this version has " + commands_of(app) +
                             "; see memtrace --help");
  check_name(app, argv[1]);
  try {
    app.parse(static_cast<int>((is_run ? dashes : end) - argv), argv);
  } catch (const CLI::CallForHelp&) {
    return Say{app.help("", CLI::AppFormatMode::Sub)};
  } catch (const CLI::CallForVersion& version) {
    return Say{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    refuse(app, error);
  }
  return command;
}

} // namespace memtrace::cli
