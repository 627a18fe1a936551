// Purpose: the tables of a fleet, with the names and types of their columns. docs/export.md describes them.
#pragma once

#include <span>

namespace memtrace::report {

// `type`: "string", "int64", "double" or "bool".
struct FleetColumn {
  const char* name;
  const char* type;
};

// All tables are partitioned by job. `by_rank`: also by rank.
struct FleetTable {
  const char* name;
  bool by_rank;
  std::span<const FleetColumn> columns;
};

enum class FleetTableId : unsigned char {
  jobs,
  processes,
  phases,
  peaks,
  ledgers,
  findings,
  samples,
  usage,
  headroom,
  job_findings
};

// In the order of FleetTableId.
std::span<const FleetTable> fleet_tables();

} // namespace memtrace::report
