// Purpose: the script that completes memtrace's command line in zsh.
#include "analyzer/cli/reference/completions.h"

namespace memtrace::cli {
namespace {

// Returns a word in single quotes.
std::string zsh_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Brackets, colons and backslashes have a meaning in the specifications of _arguments and _describe.
std::string specified(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string action_of(const OptionText& option) {
  switch (option.kind) {
    case ValueKind::choice:
      return "(" + joined(option.choices, " ") + ")";
    case ValueKind::file:
      return "_files";
    case ValueKind::directory:
      return "_files -/";
    case ValueKind::other:
    case ValueKind::none:
      break;
  }
  return "";
}

std::string option_words(const OptionText& option) {
  std::string out;
  for (const std::string& name : option.names) {
    std::string spec = name + "[" + specified(option.help) + "]";
    if (option.kind != ValueKind::none) spec += ":" + specified(option.value) + ":" + action_of(option);
    out += " \\\n        " + zsh_word(spec);
  }
  return out;
}

// Behind "--" begins the command line of another program.
constexpr const char* kProgram =
    R"zsh(      dashes=${words[(i)--]}
      if ((dashes < CURRENT)); then
        words=("${(@)words[dashes+1,-1]}")
        ((CURRENT -= dashes))
        _normal
        return
      fi
)zsh";

std::string command_case(const CommandText& command) {
  std::string out = "    " + command.name + ")\n";
  if (command.starts_a_program) out += kProgram;
  out += "      _arguments";
  for (const OptionText& option : command.options) out += option_words(option);
  for (const OptionText& argument : command.arguments)
    out += " \\\n        " + zsh_word("*:" + specified(argument.value) + ":" + action_of(argument));
  return out + " ;;\n";
}

} // namespace

std::string zsh_completion(const ProgramText& texts) {
  std::string out =
      "#compdef memtrace\n# Completion of memtrace for zsh. The build made it from the options of the "
      "command.\n\n"
      "local context state state_descr line\nlocal -a known\nlocal -i dashes\ntypeset -A "
      "opt_args\n\nknown=(\n";
  for (const CommandText& command : texts.commands)
    out += "  " + zsh_word(specified(command.name) + ":" + specified(command.help)) + "\n";
  out += ")\n\n_arguments -C";
  for (const OptionText& option : texts.program.options) out += option_words(option);
  out += " \\\n        '1:command:->command' \\\n        '*:: :->words'\n\n";
  out += "case $state in\n  command) _describe -t commands command known ;;\n  words)\n    case $words[1] in\n";
  for (const CommandText& command : texts.commands) out += command_case(command);
  return out + "    esac ;;\nesac\n";
}

} // namespace memtrace::cli
