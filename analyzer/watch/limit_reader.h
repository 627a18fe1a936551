// Purpose: the limits that would end the processes of a job, and how much of each is used now.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/watch/cgroup_memory.h"
#include "analyzer/watch/memory_limit.h"

namespace memtrace::watch {

class LimitReader {
 public:
  explicit LimitReader(Threshold threshold) : threshold_(threshold), machine_("/proc/meminfo") {}

  // Finds the limits of these processes: their cgroups with the ancestors, and their limits of address space.
  void follow(const std::vector<int>& pids);
  // Returns all of them and the machine's, as they are now.
  std::vector<LimitUse> read();
  // Returns the bytes until the nearest of `uses` counts as near; ~0: there is no limit.
  std::uint64_t until_near(const std::vector<LimitUse>& uses) const;

  // Appends what to poll for, so that a poll ends early when a cgroup comes near its limit.
  void add_alarms(std::vector<pollfd>& waiting);
  void take_alarms(const std::vector<pollfd>& waited);

 private:
  struct OfProcess {
    int pid = 0;
    LimitKind kind{};
    std::uint64_t limit = 0;
  };
  void read_processes(std::vector<LimitUse>& out) const;
  void read_machine(std::vector<LimitUse>& out);

  Threshold threshold_;
  std::map<std::string, std::unique_ptr<CgroupMemory>> cgroups_; // by folder
  std::map<std::string, std::vector<CgroupFolder>> known_;       // by the text of /proc/PID/cgroup
  std::vector<OfProcess> processes_;                             // the limits of each
  KernelFile machine_;
};

} // namespace memtrace::watch
