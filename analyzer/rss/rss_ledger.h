// Purpose: divides the resident memory of a process into measured rows, with the kernel's total and the
// residual.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/kernel_samples.h"

namespace memtrace::report {

struct ProcessAnalysis;

struct RssRow {
  std::string name;
  std::uint64_t bytes = 0;
  bool sampled = false;
  std::optional<std::uint64_t> given; // bytes given, resident or not
  std::optional<std::uint64_t> parts; // the number of blocks or mappings
};

struct RssLedger {
  std::string scope; // process, family, cgroup, node
  std::string at;    // peak_rss, end, death
  double t = 0;      // seconds from the process's start
  std::string of;    // the cgroup's path, the host
  std::uint64_t total = 0;
  std::uint64_t high_water = 0;
  std::vector<RssRow> rows; // the largest first
  std::int64_t residual = 0;
  std::optional<std::uint64_t> swap;  // bytes in swap, which are in no row; nullopt: the kernel does not say
  std::vector<trace::NumaNode> nodes; // of a cgroup: the process's own cgroup on each NUMA node
  std::vector<std::string> remarks;   // facts that a reader needs to interpret the figures
};

std::vector<RssLedger> ledgers(const ProcessAnalysis& analysis);

// Returns the most resident bytes that the process is known to have had; 0: not known. That is VmHWM, or more
// if the program reset it. Huge pages of the pool count, as in the ledger.
std::uint64_t highest_resident(const ProcessAnalysis& analysis);

} // namespace memtrace::report
