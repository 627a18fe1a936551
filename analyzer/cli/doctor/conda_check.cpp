// Purpose: checks whether an active conda environment keeps LD_PRELOAD, and whether its Python is the first
// one.
#include "analyzer/cli/doctor/conda_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "analyzer/cli/common/program_file.h"
#include "analyzer/cli/doctor/scratch_folder.h"
#include "analyzer/cli/doctor/traced_run.h"
#include "analyzer/files/reading.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

// Returns the scripts that `conda activate` reads, and that name LD_PRELOAD.
std::vector<fs::path> scripts_with_preload(const fs::path& environment) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(environment / "etc" / "conda" / "activate.d", error))
    if (entry.path().extension() == ".sh" &&
        files::system_text(entry.path().string()).find("LD_PRELOAD") != std::string::npos)
      out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// True if a program that a shell starts after such a script is still traced.
bool keeps_preload(const fs::path& script, const std::string& library) {
  const Folder folder(temporary_place());
  if (folder.path().empty()) return false;
  std::vector<std::string> command{"bash", "-c", ". \"$1\"; shift; exec \"$@\"", "-", script.string()};
  const std::vector<std::string> probe = probe_in(folder.path());
  command.insert(command.end(), probe.begin(), probe.end());
  run_traced(command, library, folder.path());
  return is_traced_in(folder.path(), probe).value_or(false);
}

// `conda env config vars set LD_PRELOAD=...` stores the value here.
bool state_has_preload(const fs::path& environment) {
  return files::system_text((environment / "conda-meta" / "state").string()).find("\"LD_PRELOAD\"") !=
         std::string::npos;
}

} // namespace

std::vector<Check> check_conda(const std::string& library) {
  const char* const prefix = std::getenv("CONDA_PREFIX");
  if (prefix == nullptr || *prefix == '\0') return {};
  const fs::path environment(prefix);
  for (const fs::path& script : scripts_with_preload(environment))
    if (!keeps_preload(script, library))
      return {{"conda", false,
               fmt::format("{} replaces LD_PRELOAD at conda activate: activate first, then use memtrace run or "
                           "memtrace env",
                           script.string())}};
  if (state_has_preload(environment))
    return {{"conda", false,
             fmt::format(
                 "{} has a variable LD_PRELOAD, which replaces memtrace's at conda activate: activate first, "
                 "then use memtrace run or memtrace env",
                 (environment / "conda-meta" / "state").string())}};
  const std::string python = found_in_path("python");
  std::error_code error;
  if (!fs::equivalent(fs::path(python).parent_path(), environment / "bin", error))
    return {{"conda", false,
             fmt::format("CONDA_PREFIX is {}, but python is {}: activate the environment again", prefix,
                         python.empty() ? "not in PATH" : python)}};
  return {
      {"conda", true, fmt::format("{}: python is its own, and LD_PRELOAD stays at conda activate", prefix)}};
}

} // namespace memtrace::cli
