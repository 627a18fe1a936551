// Purpose: finds the rank of a job that failed first, and the ranks that only followed it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/job/host_clocks.h"
#include "analyzer/job/job_process.h"

namespace memtrace::report {

struct DeadRank {
  std::uint32_t rank = 0;
  std::string host;
  std::string coordinates; // "pp 0, dp 1"; "": not known
  std::string ended;       // "killed by SIGKILL"
  double seconds = 0;      // it ran
};

struct FirstDeath {
  // Two or more if they ended so soon after each other that their clocks do not give the order.
  std::vector<DeadRank> first;
  std::vector<DeadRank> followed;         // in the order of their ranks
  std::size_t others = 0;                 // ranks that did not fail, or that still run
  double least_later = 0, most_later = 0; // s, from the first to those that followed
  std::size_t hosts = 1;                  // of all ranks
  double clock_error = 0;                 // s, the largest between the first and the others that failed
  bool clocks_compared = false;           // by steps, for all of these hosts
};

// Returns nullopt if there are fewer than two ranks, or if none failed. Ranks of different hosts that ended
// less than the error of their clocks apart have no order.
std::optional<FirstDeath> first_death(const std::vector<Process>& processes, const HostClocks& clocks = {});

} // namespace memtrace::report
