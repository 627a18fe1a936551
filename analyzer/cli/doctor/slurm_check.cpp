// Purpose: checks whether srun passes LD_PRELOAD on to the tasks of a job of Slurm.
#include "analyzer/cli/doctor/slurm_check.h"

#include <fmt/core.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "analyzer/cli/common/program_file.h"
#include "analyzer/cli/doctor/scratch_folder.h"
#include "analyzer/cli/doctor/traced_run.h"

namespace memtrace::cli {
namespace {

constexpr const char* kSrun = "launcher srun";
constexpr const char* kBehindSrun = "put memtrace run -- behind srun, next to python";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// True if the list of --export, such as "ALL,HOME" or "NONE", leaves LD_PRELOAD out.
bool leaves_out(const std::string& list) {
  if (list.empty()) return false;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');)
    if (name == "ALL" || name == "LD_PRELOAD" || name.starts_with("LD_PRELOAD=")) return false;
  return true;
}

// Starts a step beside those of the job, on this node, because the trace goes to a folder of this node.
std::optional<bool> try_srun(const std::string& path, const std::string& library) {
  const Folder folder(temporary_place());
  if (library.empty() || folder.path().empty()) return std::nullopt;
  std::vector<std::string> command{path, "--overlap", "--nodes=1", "--ntasks=1",
                                   "--nodelist=" + variable("SLURMD_NODENAME")};
  const std::vector<std::string> probe = probe_in(folder.path());
  command.insert(command.end(), probe.begin(), probe.end());
  run_traced(command, library, folder.path());
  return is_traced_in(folder.path(), probe);
}

} // namespace

std::optional<Check> check_srun(const std::string& library) {
  const std::string path = found_in_path("srun");
  if (path.empty()) return std::nullopt;
  const std::string list = variable("SLURM_EXPORT_ENV");
  const std::string dropped = fmt::format(
      "leaves LD_PRELOAD out, because SLURM_EXPORT_ENV={} (sbatch --export sets it); set it to ALL, or {}",
      list, kBehindSrun);
  if (!variable("SLURM_JOB_ID").empty() && !variable("SLURMD_NODENAME").empty()) {
    const std::optional<bool> traced = try_srun(path, library);
    if (traced && *traced) return Check{kSrun, true, "passes the variables on: a program behind it was traced"};
    if (traced && !leaves_out(list))
      return Check{kSrun, false, fmt::format("a program behind it left no trace; {}", kBehindSrun)};
  }
  if (leaves_out(list)) return Check{kSrun, false, dropped};
  return Check{
      kSrun, true,
      fmt::format("passes the variables on, unless --export leaves them out (not tried: that takes a job "
                  "of Slurm); to be safe, {}",
                  kBehindSrun)};
}

} // namespace memtrace::cli
