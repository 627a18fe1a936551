// Purpose: what the processes of a job had together when one of them died, against the charge of their cgroup.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// Another process of the job, beside the one that is explained.
struct JobPeer {
  std::uint32_t pid = 0;
  std::string kind;
  std::uint32_t rank = trace::kNoRank;
  ProcessEnd end;
  double later = 0;                         // s, its last record after the explained one's; below 0: before it
  std::optional<trace::ProcessSample> then; // its last sample before that; none: it was not there
  std::string directory;                    // of its cgroup; "" where it is not known, or on another machine
};

struct JobLedger {
  struct NamedBytes {
    std::string name;
    std::uint64_t bytes = 0;
    std::string note;
    bool counted = true; // in the cgroup
  };
  std::string of;                     // the cgroup; "" where none was sampled
  std::optional<std::uint64_t> total; // its charge, by the kernel at the kill, else at the last sample
  std::vector<NamedBytes> lines;   // anonymous pages of each process, the largest first; then what is nobody's
  std::int64_t residual = 0; // the total less the lines; below 0 where forks share pages
};

// "rank 2 pid 4242", "worker pid 4243".
std::string name_of(const std::string& kind, std::uint32_t rank, std::uint32_t pid);

// Of an analysis that has a death.
JobLedger job_ledger(const ProcessAnalysis& analysis, const std::vector<JobPeer>& others);

} // namespace memtrace::report
