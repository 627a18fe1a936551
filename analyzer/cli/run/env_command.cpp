// Purpose: `memtrace env`: prints the variables that trace a program, for a shell to set.
#include "analyzer/cli/run/env_command.h"

#include <cstdlib>
#include <optional>

#include "analyzer/cli/common/output.h"
#include "analyzer/cli/run/preload_object.h"
#include "analyzer/print/json/json_text.h"

namespace memtrace::cli {
namespace {

// Without a value, the variable is unset.
using Variable = std::pair<std::string, std::optional<std::string>>;

// Puts `text` in single quotes, so that sh reads every byte as it is.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::vector<Variable> variables_of(const EnvArguments& arguments) {
  const char* const before = std::getenv("LD_PRELOAD");
  const std::string list = before != nullptr ? before : "";
  std::vector<Variable> out;
  if (arguments.unset.empty()) {
    for (const auto& [name, value] : arguments.variables) out.emplace_back(name, value);
    out.emplace_back("LD_PRELOAD", with_object(preload_object(), list));
    return out;
  }
  const std::string others = without_object(preload_object(), list);
  out.emplace_back("LD_PRELOAD", others.empty() ? std::nullopt : std::optional(others));
  for (const std::string& name : arguments.unset) out.emplace_back(name, std::nullopt);
  return out;
}

std::string shell_lines(const std::vector<Variable>& variables) {
  std::string out;
  for (const auto& [name, value] : variables)
    out += value ? "export " + name + "=" + quoted(*value) + "\n" : "unset " + name + "\n";
  return out;
}

std::string env_json(const std::vector<Variable>& variables) {
  report::Json out = {{"schema", "memtrace.env/1"}, {"variables", report::Json::object()}};
  for (const auto& [name, value] : variables)
    out["variables"][name] = value ? report::Json(*value) : report::Json(nullptr);
  return report::json_text(out) + "\n";
}

} // namespace

int env_command(const EnvArguments& arguments) {
  const std::vector<Variable> variables = variables_of(arguments);
  write_all({arguments.format == "json" ? env_json(variables) : shell_lines(variables)}, "");
  return 0;
}

} // namespace memtrace::cli
