// Purpose: `memtrace arm`: calls armed processes, which then begin to record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace memtrace::cli {

struct ArmArguments {
  std::optional<std::uint32_t> pid;  // either this process,
  std::optional<std::string> job;    // or the processes of this job: its id, or the directory of its traces;
  std::optional<std::uint32_t> rank; // of the job, only this rank
  std::uint32_t steps = 0;           // 0: until the end of the process
  std::uint32_t wait = 10;           // seconds for the answer
};

// Calls the processes, waits for their answers and prints a line for each. Returns 0 if all record, else 1.
// Throws UsageError if there is no armed process.
int arm_command(const ArmArguments& arguments);

} // namespace memtrace::cli
