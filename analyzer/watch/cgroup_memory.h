// Purpose: reads how much of the limit of one memory cgroup is used, again and again and cheaply.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/watch/cgroup_folders.h"
#include "analyzer/watch/kernel_file.h"
#include "analyzer/watch/memory_limit.h"

namespace memtrace::watch {

struct CgroupCharge {
  std::uint64_t charge = 0; // memory.current, memory.usage_in_bytes
  std::uint64_t held = 0; // the part that the kernel does not reclaim at a limit: all but the clean page cache
  std::uint64_t limit = 0;
};

class CgroupMemory {
 public:
  explicit CgroupMemory(const CgroupFolder& folder);

  const CgroupFolder& folder() const { return folder_; }
  // Returns nullopt if the cgroup has no limit or is gone. Reads memory.stat, which may cost the kernel much
  // more than the other files, only if the charge is at least `threshold`. Otherwise `held` is the charge.
  std::optional<CgroupCharge> read(const Threshold& threshold);
  // Wakes a poll when the charge rises to the threshold (v1), or meets a limit (v2). Returns a descriptor for
  // it, or -1 if the kernel or the permissions do not give it.
  int alarm(const Threshold& threshold);
  short alarm_events() const; // what to poll for
  void take_alarm();          // call it after a poll said that there is one

  ~CgroupMemory();
  CgroupMemory(const CgroupMemory&) = delete;
  CgroupMemory& operator=(const CgroupMemory&) = delete;

 private:
  std::uint64_t clean_cache();

  CgroupFolder folder_;
  KernelFile charge_;
  KernelFile limit_;
  KernelFile stat_;
  KernelFile events_; // of v2
  int alarm_ = -1;    // of v1, an eventfd
  std::uint64_t alarm_level_ = 0;
};

} // namespace memtrace::watch
