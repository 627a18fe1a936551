// Purpose: sums the memory of a job's processes on one machine; shared pages count once (PSS).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/rss/rss_ledger.h"
#include "analyzer/trace/kernel_samples.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::report {

// One process of the job. Its pointers must outlive the call.
struct FamilyMember {
  const trace::Facts* facts;
  const trace::Samples* samples;
  std::string kind;
};

struct Family {
  struct Member {
    std::uint32_t pid = 0;
    std::string name;
    trace::ShareSample share;
  };
  RssLedger ledger;
  std::vector<Member> members; // by PSS, the largest first
  std::uint64_t resident = 0;  // sum of RSS: shared pages count several times
};

// Returns the figures at the highest sum of PSS. Moments at which each running process has reported since the
// last start or end of a process come first, unless their highest sum is below 0.8 of the highest of all.
// Returns nullopt if fewer than two processes of one machine reported. `t` counts from the start of the first
// process.
std::optional<Family> sum_family(const std::vector<FamilyMember>& processes);

} // namespace memtrace::report
