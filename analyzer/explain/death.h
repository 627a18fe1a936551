// Purpose: finds the memory state at the end of a process that failed.
#pragma once

#include <optional>
#include <string>

#include "analyzer/job/process_end.h"
#include "analyzer/passes/end_state.h"

namespace memtrace::report {

// The block that the process was writing to when it was killed.
struct BlockBeingFilled {
  replay::RecentBirth block;
  std::optional<std::uint64_t> touched; // bytes; nullopt: not known
};

// The explained instant: the last record. If the process ended because an allocation failed, it is the time of
// the failure.
struct DeathInstant {
  trace::Ordinal at = 0;
  format::Stamp stamp = 0;
  replay::PhasePosition place;
  replay::MemoryId memory = 0;
  replay::Level level;                     // the level of `memory`
  std::vector<replay::RecentBirth> births; // the last large blocks of `memory`, newest first
};

struct Death {
  replay::EndState last;
  DeathInstant then;
  std::optional<std::uint64_t> limit;          // bytes: the limit that was met, or the closest one
  std::string limit_of;                        // "cgroup /a", "the machine", "RLIMIT_AS", "/dev/shm", "cuda:0"
  std::optional<std::uint64_t> charge;         // the bytes charged to that limit
  format::Stamp charge_at = 0;                 // the time of the closest sample
  const trace::SampledCgroup* group = nullptr; // the cgroup of the limit, if it was sampled; else null
  replay::Resident resident; // as the kernel logged it at the kill, else at the last sample before
  bool at_kill = false;      // true: from the kernel's log of the kill
  std::optional<BlockBeingFilled> filling;
  const trace::Failure* failure = nullptr; // the failed allocation that ended the process; null: none
  bool unfit = false;                      // /dev/shm had less space than the newest shared memory needs
};

// True if the process may have died: then find_death needs the state at its end.
bool may_have_died(const ProcessEnd& ending);
// Returns nullopt if the process ended normally or still runs.
std::optional<Death> find_death(const trace::Trace& trace, const ProcessEnd& ending, replay::EndState last);

} // namespace memtrace::report
