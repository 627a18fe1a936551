// Purpose: a command with its arguments.
#pragma once

#include <string>
#include <variant>

#include "analyzer/cli/arm/arm_command.h"
#include "analyzer/cli/commands/check_command.h"
#include "analyzer/cli/commands/diff_command.h"
#include "analyzer/cli/commands/explain_command.h"
#include "analyzer/cli/commands/export_command.h"
#include "analyzer/cli/commands/pack_command.h"
#include "analyzer/cli/commands/postmortem_command.h"
#include "analyzer/cli/commands/report_command.h"
#include "analyzer/cli/commands/tree_command.h"
#include "analyzer/cli/doctor/doctor_command.h"
#include "analyzer/cli/run/env_command.h"
#include "analyzer/cli/run/fleet_command.h"
#include "analyzer/cli/run/jupyter_command.h"
#include "analyzer/cli/run/mcp_command.h"
#include "analyzer/cli/run/run_command.h"
#include "analyzer/cli/top/top_command.h"

namespace memtrace::cli {

// The text of --help or --version. The program prints it and exits.
struct Say {
  std::string text;
};

using Command =
    std::variant<Say, ReportArguments, PostmortemArguments, DiffArguments, ExplainArguments, PackArguments,
                 UnpackArguments, TreeArguments, CheckArguments, ExportArguments, RunArguments, EnvArguments,
                 ArmArguments, JupyterArguments, McpArguments, DoctorArguments, TopArguments, FleetArguments>;

} // namespace memtrace::cli
