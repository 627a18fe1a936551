// Purpose: the shapes: kills and faults from a kernel's log, counters of cgroups, statements of orchestrators,
// what was left in /dev/shm.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::evidence {

inline constexpr std::uint64_t kUnknown = ~std::uint64_t{0}; // a figure that nobody gave; as a limit: none

// clang-tidy 14 takes the 0 of a defaulted <=> for a pointer: so the marks below.

// When something was, on whichever clock its witness has.
struct When {
  std::optional<double> boot; // seconds since boot, of a kernel's log: CLOCK_MONOTONIC, but for drift
  std::optional<double> unix; // seconds
  bool zoned = true;          // else `unix` was read from a local time, and no one said of where
  auto operator<=>(const When&) const = default; // NOLINT(modernize-use-nullptr)
};

// The kernel's OOM killer ended a process.
struct Kill {
  When when;
  std::uint64_t pid = 0; // in the first pid namespace
  std::string name;
  std::string constraint; // CONSTRAINT_MEMCG, CONSTRAINT_NONE, ...; "" in old kernels
  std::string limited;    // the cgroup whose limit was met; "" for the machine, and where it is not said
  std::string group;      // the cgroup of the process
  std::uint64_t total_vm = kUnknown, anon = kUnknown, file = kUnknown, shmem = kUnknown; // bytes
  std::uint64_t usage = kUnknown, limit = kUnknown;                                      // of `limited`
  bool whole_group = false; // memory.oom.group: all of the group were killed
  std::string words;        // the kernel's own
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

// A memory cgroup as it was when it was looked at. What its files did not have is kUnknown.
struct CgroupState {
  std::string path; // of its directory
  bool there = false;
  bool version_two = false;
  std::uint64_t charge = kUnknown, highest = kUnknown, limit = kUnknown;
  std::uint64_t oom_kills = kUnknown;             // of its own processes and, in version 2, of those below
  std::uint64_t met = kUnknown;                   // how often the limit was met
  bool kills_all = false;                         // memory.oom.group
  auto operator<=>(const CgroupState&) const = default; // NOLINT(modernize-use-nullptr)
};

// What an orchestrator says of a container or a job step, or a parent of a process.
struct Statement {
  std::string source;    // "pod", "sacct", "memtrace run"
  std::string who;       // "pod train-0, container main"; "job step 123.0"; "pid 7081"
  std::uint64_t pid = 0; // of the one process that it is about, as its trace has it; 0: of all in there
  std::string host;      // "" where it does not say
  std::string reason;    // in its own words: "OOMKilled", "OUT_OF_MEMORY"
  bool out_of_memory = false;
  std::optional<int> code;   // exit status
  std::optional<int> signal; // that ended it
  When began;
  When ended;
  std::uint64_t limit = kUnknown;                     // bytes
  auto operator<=>(const Statement&) const = default; // NOLINT(modernize-use-nullptr)
};

// A file in /dev/shm that a process made, and that nobody held any more.
struct ShmOrphan {
  std::string name;
  std::uint64_t bytes = 0; // of memory: its pages
  double made = 0;         // seconds, unix
  std::optional<double>
      mapped; // when the process mapped as much as it has; none: its name alone tells whose it is
  bool operator==(const ShmOrphan&) const = default;
};

// What a process left in /dev/shm, once nobody of its job was there who might remove it.
struct ShmLeftovers {
  std::optional<double> looked;    // seconds, unix; none: there was no reason to, or it was too early
  std::uint64_t unseen = kUnknown; // processes that may hold them: they could not be looked into. kUnknown: any
  std::string pids;                // the pid namespace of the one that looked
  std::vector<ShmOrphan> orphans;     // largest first
  bool operator==(const ShmLeftovers&) const = default;
};

struct Evidence {
  bool asked = false;             // the machine that the process ran on
  double read_unix = 0;           // when it was
  std::string log;                // of the machine's kernel: "" was read, else why it was not
  std::optional<double> log_from; // seconds since boot of the oldest that it still had
  std::vector<std::string> files; // names of those that were given
  std::vector<Kill> kills;        // in the order of the log
  std::vector<ProgramFault> faults;
  std::vector<CgroupState> groups; // the process's own before its ancestors
  std::vector<Statement> statements;
  ShmLeftovers left;
};

// What is new to it.
void add(Evidence& to, const Evidence& from, const std::string& file = "");

} // namespace memtrace::evidence
