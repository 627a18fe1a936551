// Purpose: argv -> which command with which arguments.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "analyzer/cli/commands/diff_command.h"
#include "analyzer/cli/commands/explain_command.h"
#include "analyzer/cli/commands/postmortem_command.h"
#include "analyzer/cli/commands/report_command.h"
#include "analyzer/cli/doctor/doctor_command.h"
#include "analyzer/cli/run/run_command.h"

namespace memtrace::cli {

// Text to print, and done: --help, --version.
struct Say {
  std::string text;
};

using Command = std::variant<Say, ReportArguments, PostmortemArguments, DiffArguments, ExplainArguments,
                             RunArguments, DoctorArguments>;

// Throws UsageError for what cannot be understood, and for commands that are not built yet.
Command parse(int argc, const char* const* argv);

} // namespace memtrace::cli
