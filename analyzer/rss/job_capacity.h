// Purpose: the memory that a job had for its time, and what of it was never used, in byte-seconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// A limit that holds for one or more processes of a job.
struct CapacityLimit {
  std::string of; // "cgroup", "node" or "device", as in Headroom
  std::string host;
  std::string name; // of the cgroup or the GPU
  std::uint64_t limit = 0;
  std::uint64_t used = 0;              // at most
  std::optional<std::uint64_t> needed; // at most, see Headroom; nullopt: not known
  double begin = 0, end = 0;           // s since the epoch: the first start and the last end of these processes
  std::vector<std::uint32_t> ranks;    // ascending
  std::optional<double> cached_seconds; // byte-seconds that a framework's allocator held on the GPU unused

  double seconds() const { return end > begin ? end - begin : 0; }
  double byte_seconds() const { return static_cast<double>(limit) * seconds(); }
  double never_used() const { return static_cast<double>(limit - std::min(limit, used)) * seconds(); }
};

// Collects one process after the other. Only ranks count, or in a job without ranks its main processes: their
// workers have the same limits.
class JobCapacity {
 public:
  void add(const ProcessAnalysis& analysis);
  void add(JobCapacity&& others); // Adds processes that were collected apart.

  // Returns each limit once: of a host the cgroup with the smallest limit that the ranks are in, or the machine
  // if there is none, and each GPU. By host.
  std::vector<CapacityLimit> limits() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>; // host, kind, name or identity

  std::map<Key, CapacityLimit> ranks_, others_;
};

} // namespace memtrace::report
