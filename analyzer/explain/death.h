// Purpose: how it stood at the end of a process that did not end as it should have.
#pragma once

#include <optional>
#include <string>

#include "analyzer/job/process_end.h"
#include "analyzer/passes/end_state.h"

namespace memtrace::report {

// The block that the process was writing to when it was killed.
struct BlockBeingFilled {
  replay::RecentBirth block;
  std::optional<std::uint64_t> touched; // bytes; none: it cannot be told
};

// The instant that is explained: the last record; of a process that could not get memory and gave up, when that
// was.
struct DeathInstant {
  trace::Ordinal at = 0;
  format::Stamp stamp = 0;
  replay::PhasePosition place;
  replay::MemoryId memory = 0;
  replay::Level level;               // of that memory
  std::vector<replay::RecentBirth> births; // in it: the last large ones, newest first
};

struct Death {
  replay::EndState last;
  DeathInstant then;
  std::optional<std::uint64_t> limit;  // bytes: what it met, or came closest to
  std::string limit_of;                // "cgroup /a", "the machine", "RLIMIT_AS", "/dev/shm", "cuda:0"
  std::optional<std::uint64_t> charge; // of that limit
  format::Stamp charge_at = 0;         // the closest sample
  const trace::SampledCgroup* group = nullptr; // where the limit is a cgroup's, and it was sampled
  replay::Resident resident;           // by the kernel at the kill, else at the last sample before
  bool at_kill = false;                // which of the two
  std::optional<BlockBeingFilled> filling;
  const trace::Failure* failure = nullptr; // the failed allocation that ended it
  bool unfit = false;                      // /dev/shm had no room for the newest shared memory
};

// None: it ended as programs end, or goes on.
std::optional<Death> find_death(const trace::Trace& trace, const ProcessEnd& ending);

} // namespace memtrace::report
