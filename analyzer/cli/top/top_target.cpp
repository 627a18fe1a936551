// Purpose: finds the traces that `memtrace top` shows: of a pid, or as other commands find TRACE.
#include "analyzer/cli/top/top_target.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "analyzer/files/reading.h"
#include "analyzer/job/shared_place.h"
#include "analyzer/job/trace_lookup.h"
#include "analyzer/job/trace_name.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kDefault[] = "memtrace-out";

// Returns the value of a variable in the environment with which the process started, or "".
std::string variable_of(const std::string& environment, const std::string& name) {
  std::size_t at = 0;
  while (at < environment.size()) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    if (environment.compare(at, name.size() + 1, name + "=") == 0)
      return environment.substr(at + name.size() + 1, end - at - name.size() - 1);
    at = end + 1;
  }
  return "";
}

// Returns the folder above the first part of a pattern that has a `%`.
fs::path fixed_part(const fs::path& pattern) {
  fs::path out;
  for (const fs::path& part : pattern) {
    if (part.string().find('%') != std::string::npos) break;
    out /= part;
  }
  return out;
}

// Returns the pid in its own namespace, which the names of traces have, and the pid itself.
std::set<int> pids_of(const std::string& pid) {
  std::set<int> out;
  int number = 0;
  if (report::number(std::string_view(pid), number, 10)) out.insert(number);
  std::istringstream status(files::system_text("/proc/" + pid + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    if (report::number(std::string_view(line).substr(line.find_last_of(" \t") + 1), number, 10))
      out.insert(number);
  }
  return out;
}

// Returns the folders in which the traces of the process may be.
std::vector<fs::path> folders_of(const std::string& pid) {
  const fs::path proc = fs::path("/proc") / pid;
  const std::string environment = files::system_text((proc / "environ").string());
  std::error_code error;
  const fs::path directory = fs::read_symlink(proc / "cwd", error);
  const std::vector<std::string> bases =
      report::local_bases(variable_of(environment, "MEMTRACE_SPOOL"), variable_of(environment, "TMPDIR"));
  std::vector<fs::path> out;
  const std::string job = variable_of(environment, "MEMTRACE_JOB"); // "ID;PATTERN"
  const std::string pattern =
      job.substr(std::min(job.find(';'), job.size() - (job.empty() ? 0 : 1)) + (job.empty() ? 0 : 1));
  for (const std::string& asked : {pattern, variable_of(environment, "MEMTRACE_OUT")})
    if (!asked.empty()) out.push_back(fixed_part(directory / asked));
  if (!directory.empty()) out.push_back(directory / kDefault);
  out.emplace_back(kDefault);
  std::vector<fs::path> local;
  for (const fs::path& folder : out)
    for (const std::string& one : report::local_directories(folder.string(), bases)) local.emplace_back(one);
  out.insert(out.begin(), local.begin(), local.end()); // newer than their copies on a shared file system
  return out;
}

// Adds the traces of these pids in the folder, and in the folders in it.
void add_traces(const fs::path& folder, const std::set<int>& pids, int depth,
                std::vector<report::TraceName>& out) {
  for (const std::string& file : files::names_in(folder.string())) {
    if (!file.ends_with(".memtrace")) continue;
    const auto name = report::trace_name((folder / file).string());
    if (name && pids.contains(name->pid)) out.push_back(*name);
  }
  if (depth == 0) return;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->is_directory(error) && !at->is_symlink(error)) add_traces(at->path(), pids, depth - 1, out);
}

TopTarget of_pid(const std::string& pid) {
  std::error_code error;
  if (!fs::exists("/proc/" + pid, error))
    throw report::UsageError("pid " + pid +
                             ": no such process or file; name a running process, a trace or a directory");
  const std::set<int> pids = pids_of(pid);
  for (const fs::path& folder : folders_of(pid)) {
    std::vector<report::TraceName> found;
    add_traces(folder, pids, 2, found);
    const auto newest = std::max_element(found.begin(), found.end(),
                                         [](const auto& a, const auto& b) { return a.start < b.start; });
    if (newest != found.end()) return {{newest->path}, false};
  }
  throw report::UsageError(
      "pid " + pid +
      ": no trace of it where its environment says, nor in memtrace-out; memtrace does not "
      "record it yet, or name its trace");
}

} // namespace

TopTarget top_target(const std::string& argument) {
  std::error_code error;
  const bool number = !argument.empty() && argument.find_first_not_of("0123456789") == std::string::npos;
  if (number && !fs::exists(argument, error)) return of_pid(argument);
  const bool directory = argument.empty() || !fs::is_regular_file(argument, error);
  return {report::find_traces(argument, std::nullopt), directory};
}

} // namespace memtrace::cli
