// Purpose: where every byte of a process went: ledgers with the kernel's total, rows that were measured, and
// what nobody explains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/kernel_samples.h"

namespace memtrace::report {

struct ProcessAnalysis;

struct LedgerRow {
  std::string name;
  std::uint64_t bytes = 0;
  bool sampled = false;
  std::optional<std::uint64_t> given; // the same, whether in memory or not
  std::optional<std::uint64_t> parts; // blocks, mappings
};

struct RssLedger {
  std::string scope; // of the contract: process, family, cgroup, node
  std::string at;    // of the contract: peak_rss, end, death
  double t = 0;      // seconds from the process's start
  std::string of;    // the cgroup's path, the host
  std::uint64_t total = 0;
  std::uint64_t high_water = 0;
  std::vector<LedgerRow> rows; // the largest first
  std::int64_t residual = 0;
  std::vector<std::string> remarks; // what a reader must know of it
};

std::vector<RssLedger> ledgers(const ProcessAnalysis& analysis);

} // namespace memtrace::report
