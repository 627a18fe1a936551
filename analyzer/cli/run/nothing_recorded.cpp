// Purpose: says why `memtrace run` recorded nothing.
#include "analyzer/cli/run/nothing_recorded.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "analyzer/cli/common/program_file.h"
#include "analyzer/cli/run/executable.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"
#include "preload/format/recorded_programs.h"
#include "preload/format/setting_values.h"

namespace memtrace::cli {
namespace {

std::uint64_t min_peak() {
  std::uint64_t bytes = format::kDefaultMinPeak;
  const char* const value = std::getenv("MEMTRACE_MIN_PEAK");
  if (value != nullptr && *value != '\0') format::parse_size(value, &bytes);
  return bytes;
}

bool is_left_out(const std::string& name) {
  return !format::records_in(name.c_str(), std::getenv("MEMTRACE"), std::getenv("MEMTRACE_ONLY"),
                             std::getenv("MEMTRACE_SKIP"));
}

// What a process needs to leave a trace. The recorder does not say how much a small process held.
std::string needs() {
  return fmt::format("leaves a trace only if it holds {} at once; --min-peak 0 records small ones, too",
                     report::sized(min_peak()));
}

std::string others() {
  return min_peak() == 0 ? "" : ", and any other process " + needs();
}

// Returns how this launcher loses LD_PRELOAD, or "" if it does not.
std::string reason_of_launcher(const std::string& name) {
  constexpr const char* kBehind = "put memtrace run -- behind it";
  const std::vector<std::string>& elsewhere = launchers_to_elsewhere();
  if (name == "srun")
    return fmt::format(
        "srun leaves LD_PRELOAD out if --export or SLURM_EXPORT_ENV does not name it, and a small "
        "process leaves no trace; {}",
        kBehind);
  if (name == "mpirun" || name == "mpiexec" || name == "orterun")
    return fmt::format(
        "{} passes LD_PRELOAD on to other hosts only with -x LD_PRELOAD -x MEMTRACE_OUT (Open MPI), and "
        "a small process leaves no trace; {}",
        name, kBehind);
  if (std::find(elsewhere.begin(), elsewhere.end(), name) != elsewhere.end())
    return fmt::format(
        "{} starts the program where LD_PRELOAD does not arrive, or where the library is not; "
        "install memtrace there and {}",
        name, kBehind);
  return "";
}

} // namespace

std::string why_nothing_was_recorded(const std::string& program) {
  const Executable file = executable_of(program);
  std::error_code error; // the recorder knows a program by the name of its file, not of a link to it
  const std::filesystem::path real = std::filesystem::canonical(file.path, error);
  const std::string name = (error ? std::filesystem::path(file.path) : real).filename().string();
  const std::string shown = report::printable(name);
  if (is_musl(file.loader)) return "";
  const std::string launcher = std::filesystem::path(program).filename().string(); // docker may be a script
  if (std::string reason = reason_of_launcher(launcher); !reason.empty()) return reason;
  if (file.bits == 32) return shown + " is a 32-bit program, and memtrace traces 64-bit programs";
  if (file.bits == 64 && file.loader.empty())
    return shown + " is statically linked, and memtrace traces programs that a dynamic loader starts";
  if (gains_rights(file.path))
    return shown +
           " starts with the rights of its file (setuid, setgid or capabilities), and the dynamic loader "
           "then ignores LD_PRELOAD; put memtrace run -- behind it";
  if (clears_environment(name)) return shown + " clears the environment; put memtrace run -- behind it";
  const char* const enabled = std::getenv("MEMTRACE");
  if (enabled != nullptr && std::strcmp(enabled, "0") == 0) return "MEMTRACE=0 switches memtrace off";
  if (enabled != nullptr && std::strcmp(enabled, "armed") == 0)
    return ""; // most armed processes are never called
  if (is_left_out(name)) return fmt::format("MEMTRACE_ONLY or MEMTRACE_SKIP leaves out {}{}", shown, others());
  if (min_peak() == 0) return "no process left a trace";
  return "a process " + needs();
}

} // namespace memtrace::cli
