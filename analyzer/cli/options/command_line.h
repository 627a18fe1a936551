// Purpose: parses argv into a command and its arguments.
#pragma once

#include "analyzer/cli/options/command.h"

namespace memtrace::cli {

// Returns the command that `argv` names. Throws UsageError for invalid arguments, and for commands that this
// version lacks.
Command parse(int argc, const char* const* argv);

} // namespace memtrace::cli
