// Purpose: `memtrace fleet`: starts the queries over the files that `memtrace export --to parquet` wrote.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

inline constexpr const char* kFleetEngines[] = {"duckdb", "spark"};

struct FleetArguments {
  std::string query;                    // a name, or a file that ends in .sql
  std::vector<std::string> directories; // or addresses that the engine knows, as s3://; empty: fleet
  std::vector<std::string> jobs;        // empty: all
  std::string engine = kFleetEngines[0];
  std::string master; // of Spark; "": Spark's own default, else all cores of this machine
  std::string format = "text";
  std::string python = "python3"; // has the package of the engine
  std::size_t rows = 40;          // of text, at most
  bool list = false;
};

// Becomes the Python that runs the query. Throws UsageError if an argument is missing or if there is no such
// Python.
int fleet_command(const FleetArguments& arguments);

} // namespace memtrace::cli
