// Purpose: `memtrace fleet`: starts the queries over the files that `memtrace export --to parquet` wrote.
#include "analyzer/cli/run/fleet_command.h"

#include <utility>

#include "analyzer/cli/common/python_start.h"
#include "analyzer/cli/run/python_module.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {
namespace {

constexpr const char* kDefaultFleet = "fleet";

void check_words(const FleetArguments& arguments) {
  if (arguments.list) return;
  if (arguments.query.empty())
    throw report::UsageError("fleet: no query is given; memtrace fleet --list names them");
  if (!arguments.master.empty() && arguments.engine != "spark")
    throw report::UsageError("--master: is for Spark alone; add --engine spark");
}

} // namespace

int fleet_command(const FleetArguments& arguments) {
  check_words(arguments);
  std::vector<std::string> words = {arguments.python, "-c",
                                    python_program("fleet", "fleet.start", "the queries", "fleet")};
  if (arguments.list) {
    words.emplace_back("--list");
  } else {
    words.insert(words.end(), {"--engine=" + arguments.engine, "--format=" + arguments.format,
                               "--rows=" + std::to_string(arguments.rows)});
    if (!arguments.master.empty()) words.push_back("--master=" + arguments.master);
    for (const std::string& job : arguments.jobs) words.push_back("--job=" + job);
    words.insert(words.end(), {"--", arguments.query});
    words.insert(words.end(), arguments.directories.begin(), arguments.directories.end());
    if (arguments.directories.empty()) words.emplace_back(kDefaultFleet);
  }
  become_python(std::move(words), "name a Python that has duckdb or pyspark: --python FILE");
}

} // namespace memtrace::cli
