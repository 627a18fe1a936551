// Room: report.
// Job: how it stood at the end of a process that did not end as it should have.
#pragma once

#include <optional>
#include <string>

#include "fold/last.h"
#include "report/ending.h"

namespace memtrace::report {

// The block that the process was writing to when it was killed.
struct Filling {
  fold::Birth block;
  std::optional<std::uint64_t> touched; // bytes; none: it cannot be told
};

struct Death {
  fold::Last last;
  std::optional<std::uint64_t> limit;  // bytes: what it met, or came closest to
  std::string limit_of;                // "cgroup /a", "the machine", "RLIMIT_AS"
  std::optional<std::uint64_t> charge; // of that limit, at the last sample
  fold::Resident resident;             // by the kernel at the kill, else at the last sample
  bool at_kill = false;                // which of the two
  std::optional<Filling> filling;
  const trace::Failure* failure = nullptr; // the failed allocation that ended it
};

// None: it ended as programs end, or goes on.
std::optional<Death> death(const trace::Trace& trace, const Ending& ending);

} // namespace memtrace::report
