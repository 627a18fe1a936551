// Purpose: what the command says of a trace, without what changes with its wording.
#include "report.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "analyzer/cli/commands/report_command.h"

namespace memtrace::tests {
namespace {

void prune(Json& value) {
  if (value.is_object()) {
    value.erase("findings");
    value.erase("evidence");
  }
  if (value.is_structured())
    for (Json& part : value) prune(part);
}

} // namespace

Json pruned_report(const std::string& trace) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "memtrace-golden-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch directory");
  const fs::path scratch = pattern;
  const fs::path stem = fs::path(trace).replace_extension();
  for (const char* suffix : {".memtrace", ".window-2", ".coarse", ".rings"}) // those that there are
    if (fs::exists(stem.string() + suffix))
      fs::copy_file(stem.string() + suffix, scratch / (std::string("t") + suffix));
  cli::ReportArguments arguments;
  arguments.trace = scratch / "t.memtrace";
  arguments.format = "json";
  arguments.output = scratch / "report.json";
  const int status = cli::report_command(arguments);
  Json report;
  std::ifstream(arguments.output) >> report;
  fs::remove_all(scratch);
  if (status != 0) throw std::runtime_error("the report failed");
  prune(report);
  for (Json& process : report["processes"])
    for (Json& row : process["phases"]) {
      row.erase("at_peak"); // the same sets, many times over: those of `peaks` are enough
      if (row.contains("tensor")) row["tensor"].erase("at_peak");
    }
  return report;
}

std::string differences(const Json& expected, const Json& got, const std::string& at) {
  if (expected.is_object() && got.is_object()) {
    std::string out;
    for (const auto& [key, value] : expected.items()) {
      if (got.contains(key)) {
        out += differences(value, got[key], at + "/" + key);
      } else {
        out += at + "/" + key + " is missing\n";
      }
    }
    return out;
  }
  if (expected.is_array() && got.is_array() && expected.size() == got.size()) {
    std::string out;
    for (std::size_t i = 0; i < expected.size(); ++i)
      out += differences(expected[i], got[i], at + "/" + std::to_string(i));
    return out;
  }
  if (expected == got) return "";
  return at + ": expected " + expected.dump().substr(0, 200) + ", got " + got.dump().substr(0, 200) + "\n";
}

} // namespace memtrace::tests
