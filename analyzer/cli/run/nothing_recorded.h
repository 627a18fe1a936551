// Purpose: says why `memtrace run` recorded nothing.
#pragma once

#include <string>

namespace memtrace::cli {

// Returns the reason why no process that `program` started left a trace, and what to do about it. Reads the
// MEMTRACE_* variables. Returns "" if the program uses musl, for which memtrace printed a line before.
std::string why_nothing_was_recorded(const std::string& program);

} // namespace memtrace::cli
