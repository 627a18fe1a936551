// Purpose: what `memtrace top` knows about each process at one refresh: plain figures, for the screen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::live {

// A limit, and the use of it now. Sizes are in bytes.
struct LimitNow {
  enum class LiveLimitKind : std::uint8_t { cgroup, address_space, data, machine, device };
  LiveLimitKind of = LiveLimitKind::cgroup;
  std::string name;       // "cgroup /job", "RLIMIT_AS", "machine", "cuda:0"
  std::string host;       // of a cgroup or a machine: processes of the job may share it
  unsigned memory = 0;    // 0 host, n device n-1
  std::uint64_t used = 0; // without what is dropped when memory is short; the most of the last seconds
  std::uint64_t limit = 0;
  bool soft = false;             // it delays instead of failing: memory.high
  double growth = 0;             // bytes per second, of all processes of the job that share it
  std::optional<double> full_in; // seconds; nullopt: it is not met at the present growth

  std::uint64_t left() const { return limit - (used < limit ? used : limit); }
  double share() const { return limit == 0 ? 0 : static_cast<double>(used) / static_cast<double>(limit); }
};

struct RoleNow {
  std::string name;
  std::int64_t bytes = 0;
};

// A phase in the last whole step, or in the run if it has no steps.
struct PhaseNow {
  std::string name;
  std::int64_t peak = 0, adds = 0, transient = 0;
};

struct StepNow {
  std::int64_t number = 0;
  std::int64_t begin = 0, peak = 0; // live bytes
};

struct LargeNow {
  std::uint64_t bytes = 0;
  std::uint64_t times = 1; // so many from this site since top reads the trace
  double ago = 0;          // seconds
  std::string phase;
  std::string site;
};

// One memory of a process.
struct MemoryNow {
  unsigned memory = 0;
  std::string name; // "host", "cuda:0"
  std::int64_t live = 0, tensor = 0;
  std::uint64_t used = 0;     // of a GPU, by all processes: as last sampled, and what this process took since
  std::int64_t per_step = 0;  // growth in bytes
  double per_second = 0;      // growth in bytes
  std::vector<RoleNow> roles; // largest first; they add up to `live`
  std::vector<PhaseNow> phases;
  bool phases_of_tensors = false; // on a GPU
  std::vector<StepNow> steps;     // the last ones, the present one at the end
  std::vector<LargeNow> large;    // newest first
};

struct ProcessNow {
  std::string path;
  std::string script;
  std::string host;
  std::uint32_t pid = 0;
  std::optional<std::uint32_t> rank;
  std::string job;
  bool running = false;
  std::string end; // "exited with 0"; "" while it runs
  bool ended_badly = false;
  bool replaced = false; // it became another program, which has a trace of its own
  double seconds = 0;    // since its start
  double age = 0;        // of these figures, in seconds
  std::string phase;
  std::optional<std::int64_t> step;
  double step_seconds = 0;     // median of the last steps
  std::int64_t phases_of = -1; // the step of the phases' figures; -1: the run
  std::uint64_t resident = 0, swap = 0;
  std::uint64_t lost = 0;          // events
  std::vector<MemoryNow> memories; // the host first
  std::vector<LimitNow> limits;    // the first to be met first
  std::string error;               // its trace cannot be read; all else is empty
};

// Returns the memory that a first look should show: a GPU if it has more tensors than the host, else the host.
std::size_t leading_memory(const ProcessNow& process);

// Sets when each limit is met: from the growth of all processes that share it.
void predict(std::vector<ProcessNow>& processes);

} // namespace memtrace::live
