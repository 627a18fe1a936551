// Purpose: the command `memtrace`: parses, runs, and turns an error into one line and an exit status.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <variant>

#include "analyzer/cli/options/command_line.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/files/warning.h"
#include "analyzer/wording/utf8.h"

namespace {

constexpr int kUnreadable = 2; // usage, or an input that cannot be read

// Prints on stderr, because stdout is data. Makes the line printable, because a trace may put paths into it.
int say(const std::string& line) {
  std::fprintf(stderr, "memtrace: %s\n", memtrace::report::printable(line).c_str());
  return kUnreadable;
}

// Runs the command that was parsed. Returns the exit status.
struct Start {
  int operator()(const memtrace::cli::Say& help) const {
    std::fputs(help.text.c_str(), stdout);
    return 0;
  }
  int operator()(const memtrace::cli::ReportArguments& arguments) const { return report_command(arguments); }
  int operator()(const memtrace::cli::DiffArguments& arguments) const { return diff_command(arguments); }
  int operator()(const memtrace::cli::ExplainArguments& arguments) const { return explain_command(arguments); }
  int operator()(const memtrace::cli::PostmortemArguments& arguments) const {
    return postmortem_command(arguments);
  }
  int operator()(const memtrace::cli::TreeArguments& arguments) const { return tree_command(arguments); }
  int operator()(const memtrace::cli::TopArguments& arguments) const { return top_command(arguments); }
  int operator()(const memtrace::cli::CheckArguments& arguments) const { return check_command(arguments); }
  int operator()(const memtrace::cli::ExportArguments& arguments) const { return export_command(arguments); }
  int operator()(const memtrace::cli::FleetArguments& arguments) const { return fleet_command(arguments); }
  int operator()(const memtrace::cli::PackArguments& arguments) const { return pack_command(arguments); }
  int operator()(const memtrace::cli::UnpackArguments& arguments) const { return unpack_command(arguments); }
  int operator()(const memtrace::cli::RunArguments& arguments) const { return run_command(arguments); }
  int operator()(const memtrace::cli::EnvArguments& arguments) const { return env_command(arguments); }
  int operator()(const memtrace::cli::ArmArguments& arguments) const { return arm_command(arguments); }
  int operator()(const memtrace::cli::JupyterArguments& arguments) const { return jupyter_command(arguments); }
  int operator()(const memtrace::cli::McpArguments& arguments) const { return mcp_command(arguments); }
  int operator()(const memtrace::cli::DoctorArguments& arguments) const { return doctor_command(arguments); }
};

// Prints one line about the error and returns the exit status.
int say(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const memtrace::files::OverBudget&) {
    return say(memtrace::files::Budget::of_command().refusal());
  } catch (const std::bad_alloc&) {
    // The allocation failed below the budget: the machine has no more memory, or the process has a limit.
    const std::string path = memtrace::files::Budget::of_command().path();
    return say((path.empty() ? "" : path + ": ") +
               "not enough memory for this report; --top N or fewer --steps need less");
  } catch (const std::exception& other) { // the text of UsageError and ReadError is complete
    return say(other.what());
  }
}

// Runs if an allocation fails where an exception cannot be thrown, as in the destructor of a JSON tree.
[[noreturn]] void give_up() {
  const std::exception_ptr error = std::current_exception();
  memtrace::files::Budget::of_command().lift();
  if (error == nullptr) std::abort();
  std::_Exit(say(error));
}

} // namespace

int main(int argc, char** argv) {
  std::set_terminate(give_up);
  try {
    memtrace::files::set_warning_writer([](const std::string& line) { say(line); });
    return std::visit(Start{}, memtrace::cli::parse(argc, argv));
  } catch (...) {
    return say(std::current_exception());
  }
}
