// Purpose: the first lines of `memtrace top`: whether a limit will be met, which, and when.
#pragma once

#include <string>
#include <vector>

#include "analyzer/cli/top/screen_line.h"
#include "analyzer/live/live_state.h"

namespace memtrace::cli {

inline constexpr double kFar = 30 * 86400; // seconds: a prediction beyond it tells nothing

// Returns "rank 3" or "pid 4242".
std::string short_name(const live::ProcessNow& process);

// Returns the answer for all processes together, and how much it matters.
Span headline(const std::vector<live::ProcessNow>& processes);

// Returns "+12.30 MiB a step", "+3.10 MiB a minute" or "".
std::string growth_words(const live::MemoryNow& memory);

// Returns "398 steps", or "" if the process has no steps or too many fit.
std::string steps_until(const live::ProcessNow& process, double seconds);

} // namespace memtrace::cli
