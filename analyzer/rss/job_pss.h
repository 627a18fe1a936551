// Purpose: what the processes of a job have together on one machine: pages that several have count once (PSS).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/rss/rss_ledger.h"
#include "analyzer/trace/kernel_samples.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::report {

// One process of the job. What it points to has to outlive the call.
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
  std::uint64_t resident = 0;  // sum of RSS: pages that several have count several times
};

// At the moment when PSS of all was highest, of the moments for which every process that was there said its own
// since the last one came or went. None: fewer than two processes of a machine said theirs. `t` is of the
// first's start.
std::optional<Family> sum_family(const std::vector<FamilyMember>& processes);

} // namespace memtrace::report
