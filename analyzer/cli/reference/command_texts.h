// Purpose: the command table as plain text, for the man pages and the completion.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

// What a shell completes a value with.
enum class ValueKind {
  none,      // a flag
  other,     // a number, a name
  choice,    // one of OptionText::choices
  file,      // a file or a directory
  directory, // a directory
};

struct OptionText {
  std::vector<std::string> names; // "-h" and "--help"; empty: an argument without a name
  std::string value;              // as --help shows it: "DIR", "text|json", "TRACE"; "": a flag
  std::string help;
  ValueKind kind = ValueKind::none;
  std::vector<std::string> choices;
};

struct CommandText {
  std::string name;
  std::string help;
  std::vector<OptionText> options;   // in the order of --help
  std::vector<OptionText> arguments; // those without a name
  bool starts_a_program = false;     // the words after "--" are a command
};

struct ProgramText {
  std::string version; // "memtrace 1.2.3"
  CommandText program; // the name and the options of memtrace itself
  std::vector<CommandText> commands;
};

// Returns the texts of all commands of this version.
ProgramText command_texts();

} // namespace memtrace::cli
