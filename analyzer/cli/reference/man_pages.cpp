// Purpose: the man pages, in the man macros of troff.
#include "analyzer/cli/reference/man_pages.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "analyzer/cli/options/recorder_options.h"

namespace memtrace::cli {
namespace {

// Returns `text` so that troff prints it as it is. "\-" is the hyphen that can be copied into a shell.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

// Returns a line of text. A dot or a single quote at its start would be a request.
std::string text_line(const std::string& text) {
  return (text.starts_with('.') || text.starts_with('\'') ? "\\&" : "") + escaped(text) + "\n";
}

std::string bold(const std::string& text) {
  return "\\fB" + escaped(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + escaped(text) + "\\fR";
}

std::string head(const ProgramText& texts, const std::string& page, const std::string& summary) {
  std::string title = page;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\n{} \\- {}", escaped(title),
                     texts.version, escaped(page), text_line(summary));
}

std::string option_entries(const std::vector<OptionText>& options) {
  std::string out;
  for (const OptionText& option : options) {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
    if (!option.value.empty()) names += (names.empty() ? "" : " ") + italic(option.value);
    out += ".TP\n" + names + "\n" + text_line(option.help);
  }
  return out;
}

std::string page_of(const ProgramText& texts, const CommandText& command) {
  return texts.program.name + "-" + command.name;
}

std::string synopsis(const ProgramText& texts, const CommandText& command) {
  std::string out =
      ".SH SYNOPSIS\n" + bold(texts.program.name + " " + command.name) + " [" + italic("OPTION") + " ...]";
  for (const OptionText& argument : command.arguments) out += " [" + italic(argument.value) + "]";
  if (command.starts_a_program) out += " " + bold("--") + " " + italic("CMD") + " ...";
  return out + "\n";
}

// The variables of those options of the command that the recorder reads.
std::string environment(const CommandText& command) {
  std::string out;
  for (const RecorderOption& one : recorder_options()) {
    // The name alone does not do: -o of another command is a file.
    const bool has = std::any_of(command.options.begin(), command.options.end(), [&](const OptionText& option) {
      return option.names.front() == one.option && option.help == one.help;
    });
    if (has) out += ".TP\n" + bold(one.variable) + "\n" + text_line(std::string("the value of ") + one.option);
  }
  if (out.empty()) return "";
  return ".SH ENVIRONMENT\nThe recorder in the traced process reads these variables. The options set them.\n" +
         out;
}

std::string exit_status(const CommandText& command) {
  if (command.starts_a_program)
    return ".SH EXIT STATUS\nThe status of the command, or 128 + N if signal N ended it. 127: there is no such "
           "command. 126: it cannot\nbe started. 2: wrong usage.\n";
  return ".SH EXIT STATUS\n0: done. 2: wrong usage, or an input that cannot be read; a line on stderr names "
         "the file, "
         "the offset and what\nwas expected.\n";
}

} // namespace

std::string program_page(const ProgramText& texts) {
  const std::string& name = texts.program.name;
  std::string out = head(texts, name, "memory tracer for training jobs");
  out += ".SH SYNOPSIS\n" + bold(name + " run --") + " " + italic("CMD") + " ...\n.br\n" + bold(name) + " " +
         italic("COMMAND") + " [" + italic("OPTION") + " ...]\n";
  out += ".SH DESCRIPTION\n" + text_line(texts.program.help);
  out += ".SH COMMANDS\n";
  for (const CommandText& command : texts.commands)
    out += ".TP\n" + bold(page_of(texts, command)) + "(1)\n" + text_line(command.help);
  out += ".SH OPTIONS\n" + option_entries(texts.program.options);
  out += ".SH FILES\n.TP\n" + italic("memtrace-out/JOB/") + "\n" +
         text_line(
             "the traces of a job, below the directory in which it was started; memtrace run -o names another");
  return out;
}

std::string command_page(const ProgramText& texts, const CommandText& command) {
  std::string out = head(texts, page_of(texts, command), command.help);
  out += synopsis(texts, command);
  out += ".SH OPTIONS\n" + option_entries(command.arguments) + option_entries(command.options);
  out += environment(command) + exit_status(command);
  out += ".SH SEE ALSO\n" + bold(texts.program.name) + "(1)";
  for (const CommandText& other : texts.commands)
    if (other.name != command.name) out += ",\n" + bold(page_of(texts, other)) + "(1)";
  return out + "\n";
}

} // namespace memtrace::cli
