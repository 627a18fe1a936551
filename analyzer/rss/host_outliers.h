// Purpose: finds a host of a job whose memory, page cache or shared memory differs from those of the other
// hosts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/trace/kernel_samples.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::report {

struct HostOutlier {
  std::string host;
  std::string what; // "memory", "page cache" or "shared memory"
  std::int64_t bytes = 0;
  std::int64_t median = 0; // of the other hosts
  std::size_t others = 0;
  std::vector<std::uint32_t> ranks; // on this host, ascending
};

// Collects the processes of a job, each once.
class Hosts {
 public:
  void add(const trace::Facts& facts, const trace::Samples& samples);

  // Returns the hosts with at least a tenth less memory than the median of the other hosts, and those with more
  // page cache or shared memory by a tenth of their memory. By host. Empty if the job ran on one host.
  std::vector<HostOutlier> outliers() const;

 private:
  struct HostFigures {
    std::int64_t memory = 0; // of the machine, or the limit of the job's cgroup if it is lower; 0: not known
    std::int64_t cache = 0;  // page cache without shared memory, at the highest use of the machine
    std::int64_t shared = 0;
    std::vector<std::uint32_t> ranks;
  };

  void compare(const char* what, std::int64_t HostFigures::*figure, bool less,
               std::vector<HostOutlier>& out) const;

  std::map<std::string, HostFigures> hosts_;
};

} // namespace memtrace::report
