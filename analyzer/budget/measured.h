// Purpose: the figure of a budget in a report, and the lines of the program that hold it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/budget/budget.h"
#include "analyzer/budget/report_fields.h"

namespace memtrace::budget {

// A line of the program with its bytes.
struct Holder {
  std::string file;     // as recorded; "" if no line is known
  std::string function; // may be empty
  std::int64_t line = 0;
  std::int64_t bytes = 0;
};

struct Measured {
  bool known = false; // false: the report has no such memory, measure or phase
  std::int64_t figure = 0;
  std::string process;         // "pid 123, rank 1"
  std::string place;           // "update 3"; may be empty
  std::vector<Holder> holders; // the largest first
};

// Returns the largest figure of all processes. `report`: what `memtrace report --format json` prints. The
// values of other types than expected are left out: the report may be a file from elsewhere.
Measured measure(const Json& report, const MemoryBudget& budget);

// Returns what the report has, for the message about a budget without a figure: "host, cuda:0" or the names of
// its phases.
std::string known_names(const Json& report, const MemoryBudget& budget);

} // namespace memtrace::budget
