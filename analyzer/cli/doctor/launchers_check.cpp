// Purpose: checks which of the launchers in PATH pass LD_PRELOAD on to the program behind them.
#include "analyzer/cli/doctor/launchers_check.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "analyzer/cli/common/program_file.h"
#include "analyzer/cli/doctor/ray_check.h"
#include "analyzer/cli/doctor/scratch_folder.h"
#include "analyzer/cli/doctor/slurm_check.h"
#include "analyzer/cli/doctor/traced_run.h"
#include "analyzer/files/reading.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

// A try would ask for a password and enter a line into the log of logins.
constexpr const char* kOtherUser[] = {"sudo", "doas", "pkexec", "su", "sg", "newgrp", "runuser"};
struct TriedLauncher {
  const char* name;
  std::vector<std::string> words; // between the launcher and the program
  bool is_mpi = false;            // it also starts programs on other hosts
};
const TriedLauncher kTried[] = {{"mpirun", {"-n", "1"}, true},
                                {"mpiexec", {"-n", "1"}, true},
                                {"orterun", {"-n", "1"}, true},
                                {"conda", {"run"}},
                                {"mamba", {"run"}},
                                {"micromamba", {"run"}}};

constexpr const char* kBehind = "put memtrace run -- behind the launcher, next to python";

void add_name(std::string& list, const std::string& name) {
  list += (list.empty() ? "" : ", ") + name;
}

// True if the dynamic loader or the launcher itself drops LD_PRELOAD.
bool drops(const std::string& name, const std::string& path) {
  return clears_environment(name) || gains_rights(path);
}

// Runs a program behind the launcher.
Check check_tried(const TriedLauncher& launcher, const std::string& path, const std::string& library) {
  const std::string what = std::string("launcher ") + launcher.name;
  const Folder folder(temporary_place());
  if (library.empty() || folder.path().empty())
    return {what, false, "cannot be tried: no folder can be made for a trace"};
  std::vector<std::string> command{path};
  if (::geteuid() == 0) { // Open MPI refuses root otherwise
    command = {"env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", path};
  }
  command.insert(command.end(), launcher.words.begin(), launcher.words.end());
  const std::vector<std::string> probe = probe_in(folder.path());
  command.insert(command.end(), probe.begin(), probe.end());
  const int status = run_traced(command, library, folder.path());
  const std::optional<bool> traced = is_traced_in(folder.path(), probe);
  if (!traced)
    return {what, false,
            fmt::format("cannot be tried here: it started no program (status {}); {}", status, kBehind)};
  if (*traced) {
    constexpr const char* kOtherHosts = "; to other hosts only with -x LD_PRELOAD -x MEMTRACE_OUT (Open MPI)";
    return {what, true,
            fmt::format("passes the variables on: a program behind it was traced{}",
                        launcher.is_mpi ? kOtherHosts : "")};
  }
  return {what, false,
          fmt::format("does not pass LD_PRELOAD on: a program behind it left no trace; {}", kBehind)};
}

// True if a file that DeepSpeed reads sets LD_PRELOAD for the programs on other hosts.
bool deepspeed_sets_it() {
  const char* const home = std::getenv("HOME");
  const char* const name = std::getenv("DS_ENV_FILE");
  for (const fs::path& folder : {fs::path(home != nullptr ? home : "."), fs::path(".")}) {
    const std::string text = "\n" + files::system_text(folder / (name != nullptr ? name : ".deepspeed_env"));
    if (text.find("\nLD_PRELOAD=") != std::string::npos) return true;
  }
  return false;
}

// A try would take seconds and more than one host. DeepSpeed passes variables on to the programs of its own
// host, and to those of other hosts only some, by their names.
std::optional<Check> check_deepspeed() {
  if (found_in_path("deepspeed").empty()) return std::nullopt;
  constexpr const char* kWhat = "launcher deepspeed";
  constexpr const char* kOnHost = "passes the variables on, on its own host (not tried); ";
  if (deepspeed_sets_it())
    return Check{kWhat, true, std::string(kOnHost) + "to other hosts by its file, which sets LD_PRELOAD"};
  std::error_code error;
  const bool several = fs::exists("/job/hostfile", error); // its default
  return Check{
      kWhat, !several,
      fmt::format("{}to the hosts of a hostfile it does not pass LD_PRELOAD on: write LD_PRELOAD=... and "
                  "MEMTRACE_OUT=... into ~/.deepspeed_env, or use --no_python --no_local_rank memtrace "
                  "run -- python",
                  kOnHost)};
}

} // namespace

std::vector<Check> check_launchers(const std::string& library) {
  std::string dropping, elsewhere;
  std::vector<Check> tried;
  for (const char* name : kOtherUser)
    if (const std::string path = found_in_path(name); !path.empty() && drops(name, path))
      add_name(dropping, name);
  for (const std::string& name : launchers_to_elsewhere())
    if (const std::string path = found_in_path(name); !path.empty())
      add_name(drops(name, path) ? dropping : elsewhere, name);
  std::vector<fs::path> seen; // mpirun and mpiexec may be one program
  for (const TriedLauncher& launcher : kTried) {
    const std::string path = found_in_path(launcher.name);
    std::error_code error;
    const fs::path file = fs::canonical(path, error);
    if (path.empty() || std::find(seen.begin(), seen.end(), file) != seen.end()) continue;
    seen.push_back(file);
    if (drops(launcher.name, path)) {
      add_name(dropping, launcher.name);
    } else {
      tried.push_back(check_tried(launcher, path, library));
    }
  }
  std::vector<Check> out;
  if (!dropping.empty())
    out.push_back({"launchers that drop LD_PRELOAD", false,
                   fmt::format("{}: {}, as in sudo memtrace run -- python train.py", dropping, kBehind)});
  if (!elsewhere.empty())
    out.push_back(
        {"launchers to elsewhere", false,
         fmt::format("{}: the program starts where LD_PRELOAD does not arrive, or where the library is not; "
                     "install memtrace there and {}",
                     elsewhere, kBehind)});
  out.insert(out.end(), tried.begin(), tried.end());
  if (std::optional<Check> deepspeed = check_deepspeed()) out.push_back(std::move(*deepspeed));
  if (std::optional<Check> srun = check_srun(library)) out.push_back(std::move(*srun));
  if (std::optional<Check> ray = check_ray()) out.push_back(std::move(*ray));
  return out;
}

} // namespace memtrace::cli
