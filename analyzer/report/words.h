// Room: report.
// Job: what text reports call a process, its end, a place in its course.
#pragma once

#include <string>

#include "analyzer/report/view.h"

namespace memtrace::report {

// "step/clip"; printable.
std::string phase_name(const View& view, fold::PathId path);
// "step 3", or the phase alone.
std::string when(const std::string& phase, fold::Step step);
// The script that an interpreter runs, else the program; printable and short.
std::string script(const trace::Facts& facts);
// "SIGKILL"; a number that has no name as it is.
std::string signal_name(std::uint32_t number);
// "exited with 0", "killed for memory", ...
std::string ended(const Ending& end);
// With blanks behind it, as wide as `width`.
std::string pad(const std::string& text, std::size_t width);

} // namespace memtrace::report
