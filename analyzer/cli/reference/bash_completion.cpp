// Purpose: the script that completes memtrace's command line in bash.
#include <fmt/core.h>

#include "analyzer/cli/reference/completions.h"

namespace memtrace::cli {
namespace {

// COMP_WORDBREAKS has '=', so bash gives --format=json as three words. A path may have spaces: each line of
// compgen is one reply.
constexpr const char* kBashHead =
    R"sh(# Completion of memtrace for bash. The build made it from the options of the command.

_memtrace_reply() {
  mapfile -t COMPREPLY < <(compgen "$@")
}

_memtrace_files() {
  compopt -o filenames 2>/dev/null
  _memtrace_reply "$@"
}

# Completes the program behind "--", which is word $1.
_memtrace_program() {
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$(($1 + 1))"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$(($1 + 1))"
  elif ((COMP_CWORD == $1 + 1)); then
    _memtrace_files -c -- "${COMP_WORDS[COMP_CWORD]}"
  else
    _memtrace_files -f -- "${COMP_WORDS[COMP_CWORD]}"
  fi
}

_memtrace() {
  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i
  COMPREPLY=()
  if [[ $current == = ]]; then
    current=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)sh";

constexpr const char* kBashTail = R"sh(}

complete -F _memtrace memtrace
)sh";

// Returns the line that completes a value, or "" if any text may follow.
std::string value_line(const OptionText& option) {
  switch (option.kind) {
    case ValueKind::choice:
      return fmt::format("_memtrace_reply -W '{}' -- \"$current\"", joined(option.choices, " "));
    case ValueKind::file:
      return "_memtrace_files -f -- \"$current\"";
    case ValueKind::directory:
      return "_memtrace_files -d -- \"$current\"";
    case ValueKind::other:
      return ":";
    case ValueKind::none:
      break;
  }
  return "";
}

std::string names_of(const CommandText& command) {
  std::string out;
  for (const OptionText& option : command.options)
    for (const std::string& name : option.names) out += (out.empty() ? "" : " ") + name;
  if (command.starts_a_program) out += " --";
  return out;
}

// The case of each option that takes a value.
std::string value_cases(const CommandText& command) {
  std::string out;
  for (const OptionText& option : command.options) {
    const std::string line = value_line(option);
    if (line.empty()) continue;
    std::string patterns;
    for (const std::string& name : option.names)
      patterns += (patterns.empty() ? "" : " | ") + command.name + ":" + name;
    out += fmt::format("    {}) {}; return ;;\n", patterns, line);
  }
  return out;
}

std::string word_case(const CommandText& command) {
  std::string out = "    " + command.name + ")\n";
  const std::string names = fmt::format("_memtrace_reply -W '{}' -- \"$current\"", names_of(command));
  if (command.arguments.empty()) return out + "      " + names + " ;;\n";
  return out + "      if [[ $current == -* ]]; then\n        " + names + "\n      else\n        " +
         value_line(command.arguments.front()) + "\n      fi ;;\n";
}

} // namespace

std::string joined(const std::vector<std::string>& items, const std::string& separator) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : separator) + item;
  return out;
}

std::string bash_completion(const ProgramText& texts) {
  std::string commands = names_of(texts.program), behind, values, words;
  for (const CommandText& command : texts.commands) {
    commands += " " + command.name;
    if (command.starts_a_program) behind += (behind.empty() ? "" : " | ") + command.name;
    values += value_cases(command);
    words += word_case(command);
  }
  std::string out = kBashHead;
  out += "  if ((COMP_CWORD == 1)); then\n    _memtrace_reply -W '" + commands +
         "' -- \"$current\"\n    return\n  fi\n";
  out += "  case $command in\n    " + behind +
         ")\n      for ((i = 2; i < COMP_CWORD; ++i)); do\n        if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
         "          _memtrace_program \"$i\"\n          return\n        fi\n      done ;;\n  esac\n";
  out += "  case $command:$option in\n" + values + "  esac\n";
  out += "  case $command in\n" + words + "  esac\n";
  return out + kBashTail;
}

} // namespace memtrace::cli
