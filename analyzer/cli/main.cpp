// Purpose: the command `memtrace`: parses, runs, and turns an error into one line and an exit status.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "analyzer/cli/command_line.h"
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

int run(int argc, char** argv) {
  const memtrace::cli::Command command = memtrace::cli::parse(argc, argv);
  if (const auto* text = std::get_if<memtrace::cli::Say>(&command)) {
    std::fputs(text->text.c_str(), stdout);
    return 0;
  }
  if (const auto* report = std::get_if<memtrace::cli::ReportArguments>(&command)) {
    return memtrace::cli::report_command(*report);
  }
  if (const auto* postmortem = std::get_if<memtrace::cli::PostmortemArguments>(&command)) {
    return memtrace::cli::postmortem_command(*postmortem);
  }
  if (const auto* diff = std::get_if<memtrace::cli::DiffArguments>(&command)) {
    return memtrace::cli::diff_command(*diff);
  }
  if (const auto* explain = std::get_if<memtrace::cli::ExplainArguments>(&command)) {
    return memtrace::cli::explain_command(*explain);
  }
  if (const auto* doctor = std::get_if<memtrace::cli::DoctorArguments>(&command)) {
    return memtrace::cli::doctor_command(*doctor);
  }
  return memtrace::cli::run_command(std::get<memtrace::cli::RunArguments>(command));
}

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
    return run(argc, argv);
  } catch (...) {
    return say(std::current_exception());
  }
}
