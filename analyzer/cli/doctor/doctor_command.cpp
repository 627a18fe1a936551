// Purpose: `memtrace doctor`: it tries each feature instead of looking it up.
#include "analyzer/cli/doctor/doctor_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "analyzer/cli/common/install_paths.h"
#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/program_file.h"
#include "analyzer/cli/doctor/cgroup_check.h"
#include "analyzer/cli/doctor/conda_check.h"
#include "analyzer/cli/doctor/device_check.h"
#include "analyzer/cli/doctor/launchers_check.h"
#include "analyzer/cli/doctor/scratch_folder.h"
#include "analyzer/cli/doctor/shared_check.h"
#include "analyzer/cli/doctor/spool_check.h"
#include "analyzer/cli/doctor/surroundings.h"
#include "analyzer/cli/doctor/traced_run.h"
#include "analyzer/cli/doctor/traces_check.h"
#include "analyzer/cli/doctor/user_check.h"
#include "analyzer/cli/doctor/verdict.h"
#include "analyzer/cli/doctor/workers_check.h"
#include "analyzer/files/reading.h"
#include "analyzer/print/json/json_text.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kCannotRecord = 1;

constexpr const char* kPythons[] = {"python3",    "python3.9",  "python3.10", "python3.11",
                                    "python3.12", "python3.13", "python3.14"};

Check check_tracing(const std::string& library) {
  if (library.empty())
    return {"tracing", false,
            expected_library("libmemtrace.so") + " is not there: install memtrace with cmake --install"};
  const Folder folder(temporary_place());
  if (folder.path().empty())
    return {"tracing", false,
            fmt::format("no folder can be made in {}: set TMPDIR to a directory that can be written",
                        temporary_place().string())};
  const int status = run_traced({"/bin/sh", "-c", ":"}, library, folder.path());
  if (status == 0 && facts_in(folder.path())) return {"tracing", true, "a process was traced by " + library};
  return {"tracing", false,
          "a process started with " + library + " left no trace (LD_PRELOAD=" + library + " true)"};
}

// True for a version manager's script such as pyenv's python3.12. It runs the Python that python3 runs, or
// none, and takes 0.4 s to find that out.
bool is_shim(const std::string& path) {
  return !interpreter_of(path).empty();
}

// A Python with capabilities, as for InfiniBand, is the usual reason.
std::string why_untraced(const std::string& path) {
  return gains_rights(path)
             ? "it starts with the rights of its file (setuid, setgid or capabilities), so the dynamic "
               "loader ignores LD_PRELOAD"
             : "it left no trace";
}

void check_pythons(const std::string& library, std::vector<Check>& out) {
  if (Folder(temporary_place()).path().empty()) {
    out.push_back({"Python", false, "cannot be tried: no folder can be made for its trace"});
    return;
  }
  bool any = false;
  std::vector<std::string> seen;
  for (const std::string name : kPythons) {
    const std::string program = found_in_path(name);
    if (program.empty() || (name != kPythons[0] && is_shim(program))) continue;
    const Folder folder(temporary_place());
    const std::string script =
        "import os,sys;open(os.environ['MEMTRACE_OUT']+'/version','w').write("
        "os.path.realpath(sys.executable)+'\\n'+'.'.join(map(str,sys.version_info[:3])))";
    if (library.empty() || folder.path().empty() ||
        run_traced({name, "-c", script}, library, folder.path()) != 0)
      continue;
    std::istringstream file(files::read_found(folder.path() / "version", files::kMiB).value_or(""));
    std::string path, version;
    std::getline(file, path);
    std::getline(file, version);
    if (std::find(seen.begin(), seen.end(), path + version) != seen.end()) continue;
    seen.push_back(path + version);
    any = true;
    const auto facts = facts_in(folder.path());
    const auto refused = facts ? facts->note("python") : std::nullopt;
    const bool works = facts && !refused;
    out.push_back({"Python", works,
                   fmt::format("{} ({}): {}", version, path,
                               works    ? "frames are read, phases come by themselves"
                               : !facts ? why_untraced(path)
                                        : "native stacks alone: " + *refused)});
  }
  if (!any) out.push_back({"Python", false, "no python3 in PATH"});
}

// `when`: memtrace sets the variable there.
Check check_injection(const char* variable, const char* when, const char* what) {
  const char* const taken = std::getenv(variable);
  const std::string ours = installed_library("libmemtrace_cupti.so");
  if (taken == nullptr || *taken == '\0')
    return {variable, !ours.empty(), fmt::format("is free: memtrace sets it {}, for {}", when, what)};
  if (!ours.empty() && std::string(taken) == ours) return {variable, true, "is memtrace's own"};
  return {variable, false, fmt::format("is taken by {}: no {} in such processes (unset it)", taken, what)};
}

// Reports the loader of musl. Most machines do not have it; then no line is added.
void check_musl(std::vector<Check>& out) {
  constexpr const char* kLoader = "/lib/ld-musl-x86_64.so.1";
  std::error_code error;
  if (!fs::exists(kLoader, error)) return;
  out.push_back(
      {"musl", false,
       fmt::format("programs of musl ({}) do not start with the preload object, which needs glibc: memtrace "
                   "run starts them without it, and they leave no trace",
                   kLoader)});
}

void append(std::vector<Check>& checks, std::vector<Check> more) {
  for (Check& check : more) checks.push_back(std::move(check));
}

std::vector<Check> all_checks() {
  const std::string library = installed_library("libmemtrace.so");
  std::vector<Check> out{check_tracing(library), check_traces(library), check_spool(library)};
  if (auto shared = check_shared()) out.push_back(*std::move(shared));
  check_pythons(library, out);
  append(out, check_workers(library));
  append(out, check_conda(library));
  append(out, check_launchers(library));
  append(out, check_user(library));
  check_musl(out);
  append(out, check_devices());
  out.push_back(check_injection("CUDA_INJECTION64_PATH", "with MEMTRACE_CUPTI=on", "CUPTI's callbacks"));
  out.push_back(check_injection("NVTX_INJECTION64_PATH", "where there is a driver", "phases from NVTX ranges"));
  out.push_back(check_cgroup());
  append(out, check_surroundings());
  return out;
}

// Returns the words after `line`, in lines of 100 columns. Long lines continue below their text.
std::string wrapped(std::string line, const std::string& words) {
  const std::string text = report::printable(words);
  constexpr std::size_t kIndent = 4, kWidth = 100;
  std::size_t column = line.size();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (column + 1 + word.size() > kWidth) {
      line += "\n" + std::string(kIndent, ' ') + word;
      column = kIndent + word.size();
    } else {
      line += " " + word;
      column += 1 + word.size();
    }
    at = end + 1;
  }
  return line + "\n";
}

// Writes the verdict, then what limits it, then what works.
std::string as_text(const Verdict& verdict, const std::vector<Check>& checks) {
  const std::size_t space = verdict.text.find(' ');
  std::string out = wrapped(verdict.text.substr(0, space), verdict.text.substr(space + 1));
  for (const bool works : {false, true})
    for (const Check& check : checks)
      if (check.works == works)
        out += wrapped(fmt::format("{} {}:", works ? "yes" : "no ", check.what), check.text);
  return out;
}

std::string as_json(const Verdict& verdict, const std::vector<Check>& checks) {
  report::Json out = {{"schema", "memtrace.doctor/1"},
                      {"records", verdict.records},
                      {"verdict", verdict.text},
                      {"checks", report::Json::array()}};
  for (const Check& check : checks)
    out["checks"].push_back({{"what", check.what}, {"works", check.works}, {"text", check.text}});
  return report::json_text(out) + "\n";
}

} // namespace

int doctor_command(const DoctorArguments& arguments) {
  const std::vector<Check> checks = all_checks();
  const Verdict verdict = verdict_of(checks);
  write_all({arguments.format == "json" ? as_json(verdict, checks) : as_text(verdict, checks)},
            arguments.output);
  return verdict.records ? 0 : kCannotRecord;
}

} // namespace memtrace::cli
