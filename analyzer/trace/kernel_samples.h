// Purpose: what the kernel reported while the process ran, and the allocations that failed, as one pass finds
// them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "analyzer/trace/event_merger.h"

namespace memtrace::trace {

using format::kNotSaid; // all ones: the kernel has no such figure, or there is no limit

struct ProcessSample {
  format::Stamp stamp = 0;
  bool near = false; // memtrace sampled more often, because a limit was close
  std::uint64_t anon = 0, file = 0, shmem = 0, high_water = 0, swap = 0, page_tables = 0;
};

// The memory of the process as PSS: of each shared page, the part that is its own.
struct ShareSample {
  format::Stamp stamp = 0;
  std::uint64_t resident = 0, pss = 0;
  std::uint64_t anonymous = 0, file = 0, shmem = 0; // parts of pss; 0: the kernel does not report it
  std::uint64_t private_dirty = 0;
};

struct AddressSpace {
  format::Stamp stamp = 0;
  std::uint64_t size = 0, size_limit = kNotSaid; // RLIMIT_AS
  std::uint64_t data = 0, data_limit = kNotSaid;
  std::uint64_t locked = 0, locked_limit = kNotSaid;
};

struct MachineSample {
  format::Stamp stamp = 0;
  std::uint64_t total = kNotSaid, available = kNotSaid, swap_total = kNotSaid, swap_free = kNotSaid;
  std::uint64_t shm_used = kNotSaid, shm_size = kNotSaid; // /dev/shm
};

// The use of the machine's memory, in bytes.
struct NodeSample {
  format::Stamp stamp = 0;
  std::uint64_t total = 0, free = 0;
  std::uint64_t anonymous = 0, cache = 0; // page cache: shmem and dirty are part of it
  std::uint64_t shmem = 0, dirty = 0;
  std::uint64_t kernel = 0, page_tables = 0, hugetlb = 0;

  std::uint64_t held() const { return anonymous + shmem + hugetlb; } // bytes that only their owners can free
};

// PSI of memory: percent of the time that some, or all, tasks waited for memory.
struct Pressure {
  format::Stamp stamp = 0;
  double some_avg10 = 0, full_avg10 = 0; // of the last 10 s
  std::uint64_t some_us = 0;             // in total
};

struct GroupSample {
  format::Stamp stamp = 0;
  bool near = false;
  std::uint64_t charge = 0, limit = kNotSaid;
  std::uint64_t anon = 0, file = 0; // page cache, shmem included
  std::uint64_t oom_kills = 0;
  // kNotSaid: the kernel does not report it. Page tables are part of `kernel`, `dirty` of `file`.
  std::uint64_t shmem = kNotSaid, kernel = kNotSaid, swap = kNotSaid, hugetlb = kNotSaid;
  std::uint64_t page_tables = kNotSaid, dirty = kNotSaid;

  // Returns the bytes that the kernel does not reclaim at a limit: all but the clean page cache.
  std::uint64_t held() const;
};

// Counts since the cgroup or the process began. kNotSaid: the kernel does not report it.
struct WaitCounts {
  format::Stamp stamp = 0;
  std::uint64_t refaulted = kNotSaid; // bytes of files that were evicted and read again
  std::uint64_t swapped_in = 0;       // bytes of anonymous memory that were evicted and read again
  std::uint64_t major_faults = kNotSaid;
  std::uint64_t throttled = 0; // how often memory.high delayed a task
};

// Bytes of the process's own cgroup on a NUMA node.
struct NumaNode {
  unsigned node = 0;
  std::uint64_t anon = 0, file = 0; // page cache, shmem included
};

struct CgroupLimitSample {
  format::Stamp stamp = 0;
  std::uint64_t high = kNotSaid, swap = kNotSaid; // v1: of memory and swap together
  std::uint64_t highest = kNotSaid;               // the highest charge ever
  std::uint64_t met = kNotSaid;                   // how often the charge reached the limit
  std::uint64_t ooms = kNotSaid;
  std::optional<bool> kills_all; // memory.oom.group
};

// One memory cgroup that the process was in, or an ancestor of it.
struct SampledCgroup {
  format::TextId path{};
  unsigned level = 0; // 0: the process's own, 1 its parent
  bool version_two = false;
  bool left = false;                               // the process was moved to another cgroup
  std::optional<GroupSample> first, last, highest; // by charge
  std::optional<GroupSample> fullest;              // by held()
  std::deque<GroupSample> late;                    // the last samples, `last` included, in order
  std::optional<CgroupLimitSample> first_limits, limits;
  std::optional<Pressure> first_pressure, pressure;
  std::optional<WaitCounts> first_waits, waits;
};

// An allocation that failed for lack of memory.
struct Failure {
  Ordinal ordinal = 0;
  format::Stamp stamp = 0;
  std::uint32_t thread = 0;
  format::Kind kind = format::Kind::none;
  unsigned memory = 0; // 0 host, n device n-1
  bool tensor = false;
  bool no_access = false; // a reservation of addresses
  std::uint64_t asked = 0;
  std::uint32_t code = 0;      // errno, or the error of CUDA
  std::uint32_t map_flags = 0; // MAP_*
  format::StackId stack{};
  std::uint64_t live = 0;                          // bytes of that memory, as the recorder counted them
  std::uint64_t free = kNotSaid, total = kNotSaid; // of a device; of the host: of its resource limit
  std::uint64_t times = 1; // equal ones of the thread, each soon after the one before: the first stands for all
  format::Stamp last = 0;  // stamp of the last of them

  // True if a file of shared memory found no room in its file system, which is /dev/shm in most programs.
  bool is_shm_full() const { return kind == format::Kind::shm && code == kNoSpace; }

 private:
  static constexpr std::uint32_t kNoSpace = 28; // ENOSPC of Linux
};

// ns, on the host. CPython tries an arena for each object, also while it prints the error and ends. On a
// device, each failure counts: PyTorch empties its cache between two, and the last one shows what it could not
// free.
constexpr std::uint64_t kFailAgain = 1'000'000'000;

// Collects samples and failures. Give it every event of a pass, or of a survey thread by thread. Its memory is
// bounded.
class Samples {
 public:
  static constexpr std::size_t kLate = 64; // the last samples and failures that are retained

  void add(const Event& event);

  const std::vector<SampledCgroup>& groups() const { return groups_; } // as first seen: own before ancestors
  const std::optional<ProcessSample>& process() const { return process_; } // the last sample
  // Returns the last sample of the process until `stamp`, or null if there is none. Old samples are thinned.
  const ProcessSample* process_at(format::Stamp stamp) const;
  const std::vector<ShareSample>& shares() const { return shares_; }                 // old samples are thinned
  const std::deque<AddressSpace>& address_spaces() const { return address_spaces_; } // the last ones, in order
  const std::optional<MachineSample>& first_machine() const { return first_machine_; }
  const std::optional<MachineSample>& machine() const { return machine_; }
  // Returns the sample with the fewest available bytes.
  const std::optional<MachineSample>& scarcest_machine() const { return scarcest_machine_; }
  const std::optional<NodeSample>& node_with_least_free() const { return node_with_least_free_; }
  // Returns the samples with the largest VmSize and with the largest VmData.
  const std::optional<AddressSpace>& largest_space() const { return largest_space_; }
  const std::optional<AddressSpace>& largest_data() const { return largest_data_; }
  const std::optional<NodeSample>& fullest_node() const { return fullest_node_; }   // by held()
  const std::optional<Pressure>& first_pressure() const { return first_pressure_; } // of the machine
  const std::optional<Pressure>& pressure() const { return pressure_; }
  const std::optional<WaitCounts>& first_waits() const { return first_waits_; } // of the process
  const std::optional<WaitCounts>& waits() const { return waits_; }
  // Returns the NUMA nodes at the sample with the most bytes on them; empty if the machine has one node.
  const std::vector<NumaNode>& numa() const { return numa_; }
  const std::deque<Failure>& failures() const { return failures_; } // the last failures
  std::uint64_t failed() const { return failed_; }                  // number of all failures

 private:
  void group(const Event& event);
  void charge(const Event& event);
  void limits(const Event& event);
  void pressure(const Event& event);
  void waits(const Event& event, unsigned level);
  void numa_node(const Event& event, unsigned node);
  void address_space(const AddressSpace& space);
  void node(const Event& event);
  void failure(const Event& event);
  SampledCgroup* at_level(unsigned level); // null: the process is in no known cgroup there

  std::vector<SampledCgroup> groups_;
  std::optional<ProcessSample> process_;
  std::vector<ProcessSample> processes_;
  std::vector<ShareSample> shares_;
  std::deque<AddressSpace> address_spaces_;
  std::optional<AddressSpace> largest_space_, largest_data_;
  std::optional<MachineSample> first_machine_, machine_, scarcest_machine_;
  std::optional<NodeSample> fullest_node_, node_with_least_free_;
  std::optional<Pressure> first_pressure_, pressure_;
  std::optional<WaitCounts> first_waits_, waits_;
  std::vector<NumaNode> numa_, numa_now_; // numa_now_: of the sample that is read
  std::deque<Failure> failures_;
  std::uint64_t failed_ = 0;
};

} // namespace memtrace::trace
