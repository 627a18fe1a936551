// Purpose: the types of evidence: kills and faults from a kernel's log, counters of cgroups, statements of
// orchestrators, files left in /dev/shm.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::evidence {

// the source does not state the figure; as a limit: there is no limit
inline constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

// clang-tidy 14 takes the 0 of a defaulted <=> for a pointer. The marks below suppress that warning.

// The time of an event, on the clocks that its source has.
struct When {
  std::optional<double> boot; // seconds since boot, from a kernel's log: CLOCK_MONOTONIC apart from drift
  std::optional<double> unix; // seconds
  bool zoned = true;          // false: `unix` was read from a local time without a time zone
  auto operator<=>(const When&) const = default; // NOLINT(modernize-use-nullptr)
};

// The kernel's OOM killer ended a process.
struct Kill {
  When when;
  std::uint64_t pid = 0; // in the first pid namespace
  std::string name;
  std::string constraint; // CONSTRAINT_MEMCG, CONSTRAINT_NONE, ...; "" in old kernels
  std::string limited;    // the cgroup whose limit was met; "": the whole machine, or not stated
  std::string group;      // the cgroup of the process
  std::uint64_t total_vm = kUnknown, anon = kUnknown, file = kUnknown, shmem = kUnknown; // bytes
  std::uint64_t usage = kUnknown, limit = kUnknown; // usage and limit of `limited`
  bool whole_group = false; // memory.oom.group: the kernel killed all processes of the group
  std::string words;        // the kernel's message
  bool for_group() const { return !limited.empty() || constraint == "CONSTRAINT_MEMCG"; }
  auto operator<=>(const Kill&) const = default; // NOLINT(modernize-use-nullptr)
};

// The kernel noted a fatal fault: a segmentation fault, a trap.
struct ProgramFault {
  When when;
  std::uint64_t pid = 0;
  std::string name;
  std::string words;
  auto operator<=>(const ProgramFault&) const = default; // NOLINT(modernize-use-nullptr)
};

// The state of a memory cgroup when it was read. kUnknown: its files lack the figure.
struct CgroupState {
  std::string path; // path of its directory
  bool there = false;
  bool version_two = false;
  std::uint64_t charge = kUnknown, highest = kUnknown, limit = kUnknown;
  std::uint64_t oom_kills = kUnknown; // kills in this cgroup and, in version 2, in its descendants
  std::uint64_t met = kUnknown;       // how many times the limit was met
  bool kills_all = false;             // memory.oom.group
  auto operator<=>(const CgroupState&) const = default; // NOLINT(modernize-use-nullptr)
};

// The statement of an orchestrator about a container or a job step, or of a parent about a process.
struct Statement {
  std::string source; // "pod", "sacct", "torchrun"
  std::string who;    // "pod train-0, container main"; "job step 123.0"; "pid 7081"
  // the process that it is about, with the pid that the trace has; 0: all processes in the container or step
  std::uint64_t pid = 0;
  std::string host;   // "": not stated
  std::string reason; // in the words of the source: "OOMKilled", "OUT_OF_MEMORY"
  bool out_of_memory = false;
  std::optional<int> code;   // exit status
  std::optional<int> signal; // the signal that ended it
  When began;
  When ended;
  std::uint64_t limit = kUnknown;                     // bytes
  auto operator<=>(const Statement&) const = default; // NOLINT(modernize-use-nullptr)
};

// A program that manages processes states that it ended one, or all of a cgroup or of a pod.
struct ManagerKill {
  When when;
  std::string manager;   // "earlyoom", "systemd-oomd", "Ray", "kubelet", "torchrun"
  std::uint64_t pid = 0; // in the pid namespace of the manager; 0: not stated
  std::string group;     // all processes of this cgroup and of those below it; "": not stated
  // the process's host; with neither pid nor group, all processes of this host: a pod's name; "": not stated
  std::string host;
  std::optional<int> signal; // that it sent
  bool for_memory = false;   // false: the manager had another reason, such as the failure of another process
  std::uint64_t failed = 0;  // the pid of that other process; 0: not stated
  std::string words;         // its message
  auto operator<=>(const ManagerKill&) const = default; // NOLINT(modernize-use-nullptr)
};

// A file in /dev/shm that a process created and that no process holds any more.
struct ShmOrphan {
  std::string name;
  std::uint64_t bytes = 0; // memory of its pages
  double made = 0;         // creation time: seconds, unix
  std::optional<double>
      mapped; // when the process mapped a block of its size; nullopt: only the name shows the owner
  bool operator==(const ShmOrphan&) const = default;
};

// The files that a process left in /dev/shm. They are read once no process of its job can remove them.
struct ShmLeftovers {
  std::optional<double> looked; // seconds, unix; nullopt: there was no reason to look, or it was too early
  // processes that may hold the files but could not be inspected; kUnknown: any number
  std::uint64_t unseen = kUnknown;
  std::string pids;               // the pid namespace of the process that looked
  std::vector<ShmOrphan> orphans; // largest first
  bool operator==(const ShmLeftovers&) const = default;
};

struct Evidence {
  bool closed = false;            // true: the trace was packed, and no machine is queried any more
  bool running = false;           // true: the process ran when the trace was packed
  bool asked = false;             // true: the machine that the process ran on was queried
  double read_unix = 0;           // the time of that query: seconds, unix
  std::string log;                // the log of the machine's kernel: "" if it was read, else the reason why not
  std::optional<double> log_from; // seconds since boot of the oldest line in the log
  std::vector<std::string> files; // names of the evidence files that the user gave
  std::vector<Kill> kills;        // in the order of the log
  std::vector<ProgramFault> faults;
  std::vector<CgroupState> groups; // the process's own cgroup, then its ancestors
  std::vector<Statement> statements;
  std::vector<ManagerKill> manager_kills; // in the order of the log
  ShmLeftovers left;
};

// Returns the time of day: seconds, unix.
double unix_now();

// Adds the kills, faults, groups and statements that `to` lacks, and the name of the evidence file, if any.
void add(Evidence& to, const Evidence& from, const std::string& file = "");

} // namespace memtrace::evidence
