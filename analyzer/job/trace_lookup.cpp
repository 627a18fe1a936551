// Purpose: finds the files that the argument TRACE names.
#include "analyzer/job/trace_lookup.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "analyzer/archive/pack_reader.h"
#include "analyzer/files/reading.h"
#include "analyzer/files/warning.h"
#include "analyzer/job/job_attempts.h"
#include "analyzer/job/shared_place.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/snapshot/snapshot_reader.h"
#include "preload/format/armed_file.h"

namespace memtrace::report {
namespace {

namespace fs = std::filesystem;

constexpr char kDefault[] = "memtrace-out";

// True if armed processes have their files in this directory.
bool has_armed(const std::string& directory) {
  const std::vector<std::string> names = files::names_in(directory);
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.ends_with(format::kArmedSuffix); });
}

// A directory without a trace.
[[noreturn]] void refuse(const std::string& directory) {
  if (has_armed(directory))
    throw UsageError(directory + ": its processes are armed, and none has recorded yet; memtrace arm --job " +
                     directory);
  throw UsageError(
      directory +
      ": no *.memtrace file in this directory (links are not followed); name the directory of a job");
}

// Returns " of user 1000" if the file belongs to another user than this command, else "".
std::string other_owner(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || status.st_uid == ::geteuid()) return "";
  return fmt::format(" of user {}", status.st_uid);
}

// Warns that memtrace chose this job, if there was a choice or if the job is of another user.
void say_choice(const fs::path& under, std::size_t jobs, const fs::path& job,
                const std::vector<std::string>& chosen) {
  const std::string owner = other_owner(chosen.front());
  if (jobs < 2 && owner.empty()) return;
  files::warn(fmt::format("{}: reading {} {}{}", under.string(),
                          jobs < 2 ? "job" : fmt::format("the newest of {} jobs,", jobs),
                          job.filename().string(), owner));
}

// Returns the write time of the newest trace. The time of the directory is wrong if the directory was copied.
fs::file_time_type newest(const std::vector<std::string>& files) {
  fs::file_time_type time = fs::file_time_type::min();
  std::error_code error;
  for (const std::string& file : files) {
    const auto written = fs::last_write_time(file, error);
    if (!error) time = std::max(time, written);
  }
  return time;
}

// Returns the traces of the newest job. `say`: warns that there was a choice.
std::vector<std::string> newest_job(const fs::path& under, bool say) {
  std::vector<std::string> best = traces_of(under.string());
  fs::file_time_type best_time = newest(best);
  fs::path best_job = under;
  std::size_t with_traces = best.empty() ? 0 : 1;
  std::vector<fs::path> jobs;
  std::error_code error;
  for (fs::directory_iterator at(under, error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory(error)) jobs.push_back(at->path());
  }
  std::sort(jobs.begin(), jobs.end());
  for (const fs::path& job : jobs) {
    std::vector<std::string> files = traces_of(job.string());
    const fs::file_time_type time = newest(files);
    with_traces += files.empty() ? 0 : 1;
    if (files.empty() || (!best.empty() && time <= best_time)) continue;
    best = std::move(files);
    best_time = time;
    best_job = job;
  }
  if (say && !best.empty()) say_choice(under, with_traces, best_job, best);
  return best;
}

// Each directory tells the attempts of its own traces: on a shared file system each host has one.
std::vector<std::string> of_attempt(const std::vector<std::string>& files,
                                    std::optional<std::uint32_t> attempt) {
  std::map<std::string, std::vector<std::string>> by_directory;
  for (const std::string& file : files) by_directory[fs::path(file).parent_path().string()].push_back(file);
  std::vector<std::string> out;
  std::optional<UsageError> refused;
  for (const auto& [directory, traces] : by_directory) {
    try {
      const std::vector<std::string> some = traces_of_attempt(directory, traces, attempt);
      out.insert(out.end(), some.begin(), some.end());
    } catch (const UsageError& error) {
      refused = error;
    }
  }
  if (out.empty() && refused) throw UsageError(*refused);
  return out;
}

// `files` are the traces of the newest job below `place`, or of `place` itself.
std::vector<std::string> chosen(const std::vector<std::string>& files, const fs::path& place,
                                std::optional<std::uint32_t> attempt) {
  const fs::path directory = fs::path(files.front()).parent_path();
  std::error_code error;
  const bool alone = !fs::equivalent(directory, place, error) && attempts_in(directory.string()).size() <= 1;
  if (!attempt || !alone) return of_attempt(files, attempt);
  std::vector<std::string> out;
  for (const std::string& job : directories_of_attempt(place.string(), directory.string(), *attempt)) {
    const std::vector<std::string> traces = traces_of(job);
    out.insert(out.end(), traces.begin(), traces.end());
  }
  if (out.empty())
    throw UsageError(fmt::format("--attempt {}: its traces are not in {} any more", *attempt, place.string()));
  return out;
}

} // namespace

std::vector<std::string> find_traces(const std::string& argument, std::optional<std::uint32_t> attempt) {
  std::error_code error;
  if (argument.empty()) {
    const std::vector<std::string> files = newest_job(kDefault, !attempt);
    if (files.empty()) {
      throw UsageError("memtrace-out: no trace in it or its directories; name a trace or its directory");
    }
    return chosen(files, kDefault, attempt);
  }
  // Nothing of it may have reached a shared file system yet.
  const bool only_local = !fs::exists(argument, error) && !local_directories(argument).empty();
  if (!only_local && !fs::exists(argument, error)) {
    // Messages name a job by its directory alone: "reading the newest of 3 jobs, 20261126-101500-77".
    const std::string below = (fs::path(kDefault) / argument).string();
    if (fs::path(argument).is_relative() && fs::exists(below, error)) return find_traces(below, attempt);
    throw UsageError(argument +
                     ": no such file or directory, here or in memtrace-out; expected a trace or a "
                     "directory of them");
  }
  if (!only_local && !fs::is_directory(argument, error)) {
    if (attempt) throw UsageError(argument + ": a trace is of one attempt; name its directory with --attempt");
    const std::optional<std::string> cut = archive::open(argument);
    if (!cut) {
      const std::string translated = snapshot::open(argument);
      return {translated.empty() ? argument : translated};
    }
    if (!cut->empty()) files::warn(*cut);
    std::vector<std::string> packed = traces_of(argument);
    if (packed.empty()) throw UsageError(argument + ": no trace in this packed file; pack the job again");
    return of_attempt(packed, std::nullopt);
  }
  std::vector<std::string> files = traces_of(argument);
  if (files.empty()) files = newest_job(argument, !attempt);
  if (files.empty()) { // perhaps the directory in which the program was started
    const std::string below = (fs::path(argument) / kDefault).string();
    if (files = newest_job(below, !attempt); !files.empty()) return chosen(files, below, attempt);
  }
  if (files.empty()) refuse(argument);
  return chosen(files, argument, attempt);
}

} // namespace memtrace::report
