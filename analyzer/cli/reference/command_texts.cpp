// Purpose: the command table as plain text, for the man pages and the completion.
#include "analyzer/cli/reference/command_texts.h"

#include <CLI/CLI.hpp>

#include "analyzer/cli/options/command_table.h"

namespace memtrace::cli {
namespace {

ValueKind kind_of(const OptionText& option, bool is_flag) {
  if (is_flag) return ValueKind::none;
  if (option.names.empty()) return ValueKind::file; // a trace
  if (!option.choices.empty()) return ValueKind::choice;
  if (option.value == "FILE") return ValueKind::file;
  return option.value == "DIR" ? ValueKind::directory : ValueKind::other;
}

OptionText option_text(const CLI::Option& option) {
  OptionText out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  const bool is_flag = option.get_items_expected_max() == 0;
  if (!is_flag) out.value = out.names.empty() ? option.get_name(true) : option.get_type_name();
  out.help = option.get_description();
  if (out.value.find('|') != std::string::npos) out.choices = CLI::detail::split(out.value, '|');
  out.kind = kind_of(out, is_flag);
  return out;
}

CommandText command_text(const CLI::App& app) {
  CommandText out;
  out.name = app.get_name();
  out.help = app.get_description();
  out.starts_a_program = starts_a_program(out.name);
  for (const CLI::Option* option : app.get_options()) {
    OptionText text = option_text(*option);
    (text.names.empty() ? out.arguments : out.options).push_back(std::move(text));
  }
  return out;
}

} // namespace

ProgramText command_texts() {
  const auto table = command_table({}, [](const Command&) {});
  ProgramText out;
  out.version = table->version();
  out.program = command_text(*table);
  for (const CLI::App* command : table->get_subcommands([](const CLI::App*) { return true; }))
    out.commands.push_back(command_text(*command));
  return out;
}

} // namespace memtrace::cli
