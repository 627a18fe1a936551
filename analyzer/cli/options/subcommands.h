// Purpose: adds each subcommand with its options to the command line. If the user gives it, `parsed` gets its
// arguments.
#pragma once

#include <functional>
#include <string>
#include <vector>

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

namespace CLI {
class App;
}

namespace memtrace::cli {

void add_report(CLI::App& app, const std::function<void(const ReportArguments&)>& parsed);
void add_diff(CLI::App& app, const std::function<void(const DiffArguments&)>& parsed);
void add_explain(CLI::App& app, const std::function<void(const ExplainArguments&)>& parsed);
void add_postmortem(CLI::App& app, const std::function<void(const PostmortemArguments&)>& parsed);
void add_tree(CLI::App& app, const std::function<void(const TreeArguments&)>& parsed);
void add_top(CLI::App& app, const std::function<void(const TopArguments&)>& parsed);
void add_check(CLI::App& app, const std::function<void(const CheckArguments&)>& parsed);
void add_export(CLI::App& app, const std::function<void(const ExportArguments&)>& parsed);
void add_fleet(CLI::App& app, const std::function<void(const FleetArguments&)>& parsed);
void add_pack(CLI::App& app, const std::function<void(const PackArguments&)>& parsed);
void add_unpack(CLI::App& app, const std::function<void(const UnpackArguments&)>& parsed);
void add_env(CLI::App& app, const std::function<void(const EnvArguments&)>& parsed);
void add_arm(CLI::App& app, const std::function<void(const ArmArguments&)>& parsed);
void add_jupyter(CLI::App& app, const std::function<void(const JupyterArguments&)>& parsed);
void add_mcp(CLI::App& app, const std::function<void(const McpArguments&)>& parsed);
void add_doctor(CLI::App& app, const std::function<void(const DoctorArguments&)>& parsed);
// `command`: the words after "--".
void add_run(CLI::App& app, const std::vector<std::string>& command,
             const std::function<void(const RunArguments&)>& parsed);

} // namespace memtrace::cli
