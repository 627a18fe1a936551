// Purpose: the script that completes memtrace's command line in fish.
#include "analyzer/cli/reference/completions.h"

namespace memtrace::cli {
namespace {

constexpr const char* kFishHead =
    R"fish(# Completion of memtrace for fish. The build made it from the options of the command.

# True if the command is one of the arguments, and no "--" came yet.
function __memtrace_is
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv; and not contains -- -- $words
end

# True if the command is one of the arguments, and a "--" came.
function __memtrace_has_program
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv; and contains -- -- $words
end

# Completes the program behind "--".
function __memtrace_program
    set -l words (commandline -opc)
    set -l behind $words[(math (contains -i -- -- $words) + 1)..-1]
    complete -C (string join ' ' -- (string escape -- $behind) (commandline -ct))
end

complete -c memtrace -f
)fish";

// Returns a word in single quotes.
std::string fish_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string value_of(const OptionText& option) {
  switch (option.kind) {
    case ValueKind::choice:
      return " -x -a " + fish_word(joined(option.choices, " "));
    case ValueKind::file:
      return " -r -F";
    case ValueKind::directory:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::other:
      return " -x";
    case ValueKind::none:
      break;
  }
  return "";
}

std::string option_line(const std::string& condition, const OptionText& option) {
  std::string out = "complete -c memtrace -n " + fish_word(condition);
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return out + value_of(option) + " -d " + fish_word(option.help) + "\n";
}

} // namespace

std::string fish_completion(const ProgramText& texts) {
  std::string out = kFishHead;
  for (const OptionText& option : texts.program.options) out += option_line("__fish_use_subcommand", option);
  for (const CommandText& command : texts.commands) {
    const std::string is = "__memtrace_is " + command.name;
    out += "\ncomplete -c memtrace -n __fish_use_subcommand -a " + command.name + " -d " +
           fish_word(command.help) + "\n";
    for (const OptionText& option : command.options) out += option_line(is, option);
    if (!command.arguments.empty()) out += "complete -c memtrace -n " + fish_word(is) + " -F\n";
    if (command.starts_a_program)
      out += "complete -c memtrace -n " + fish_word("__memtrace_has_program " + command.name) +
             " -x -a '(__memtrace_program)'\n";
  }
  return out;
}

} // namespace memtrace::cli
