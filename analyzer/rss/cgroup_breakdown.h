// Purpose: compares the memory of all processes of a job at a death with the charge of their cgroup.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// Another process of the job than the explained one.
struct JobPeer {
  std::uint32_t pid = 0;
  std::string kind;
  std::uint32_t rank = trace::kNoRank;
  ProcessEnd end;
  // s from the explained process's end to its end; below 0: it ended before
  double later = 0;
  std::optional<trace::ProcessSample> then; // its last sample before that end; nullopt: it did not run then
  std::string directory;                    // of its cgroup; "": not known, or on another machine
  bool same_host = true;                    // as the explained process
};

struct JobLedger {
  struct NamedBytes {
    std::string name;
    std::uint64_t bytes = 0;
    std::string note;
    bool counted = true; // true if it is charged to the cgroup
  };
  std::string of; // the cgroup; "": none was sampled
  // its charge, as the kernel logged it at the kill, else at the last sample
  std::optional<std::uint64_t> total;
  // anonymous pages of each process, the explained one first; then shared memory and kernel memory
  std::vector<NamedBytes> lines;
  std::int64_t residual = 0; // the total less the lines; below 0 if forked processes share pages
};

// Returns "rank 2 pid 4242" or "worker pid 4243".
std::string name_of(const std::string& kind, std::uint32_t rank, std::uint32_t pid);

// Returns the ledger at the death. `analysis` must have one.
JobLedger job_ledger(const ProcessAnalysis& analysis, const std::vector<JobPeer>& others);

} // namespace memtrace::report
