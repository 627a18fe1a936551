// Purpose: what text reports call a process, a signal, a place in its course.
#pragma once

#include <string>

#include "analyzer/replay/phase_position.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::report {

// "step 3", or the phase alone.
std::string when(const std::string& phase, replay::Step step);
// "steps 3 to 1,024".
std::string step_range(replay::Step first, replay::Step last);
// The script that an interpreter runs, else the program; printable and short.
std::string script(const trace::Facts& facts);
// "SIGKILL"; a number that has no name as it is.
std::string signal_name(std::uint32_t number);
// With blanks behind it, as wide as `width`.
std::string pad(const std::string& text, std::size_t width);

} // namespace memtrace::report
