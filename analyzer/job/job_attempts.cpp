// Purpose: the attempts of a job, and the traces that belong to each attempt.
#include "analyzer/job/job_attempts.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>

#include "analyzer/files/reading.h"
#include "analyzer/files/warning.h"
#include "analyzer/job/trace_name.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::report {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = 64 * 1024; // bytes of a file of a few lines

bool read(const fs::path& path, JobFile& out) {
  const std::optional<std::string> whole = files::read_found(path.string(), kMostBytes);
  if (!whole) return false;
  std::istringstream file(*whole);
  bool attempt = false, began = false;
  std::string line;
  for (int lines = 0; lines < 16 && std::getline(file, line); ++lines) {
    const std::string_view text = line;
    if (text.starts_with("attempt=")) attempt = number(text.substr(8), out.attempt, 10);
    if (text.starts_with("began=")) began = number(text.substr(6), out.began, 16);
    if (text.starts_with("command=") && !number(text.substr(8), out.command, 16)) out.command = 0;
  }
  out.directory = path.parent_path().string();
  return attempt && began && out.attempt != 0;
}

// Reads the file of the job in its own directory. On a shared file system it is in the directory of a host.
bool read_job_in(const fs::path& directory, JobFile& out) {
  if (read(directory / "job", out)) return true;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->is_directory(error) && !at->is_symlink(error) && read(at->path() / "job", out)) {
      out.directory = directory.string();
      return true;
    }
  return false;
}

// "attempt 1 alone", "attempts 1 to 4".
std::string those(const std::vector<std::uint32_t>& attempts) {
  if (attempts.empty()) return "no file that tells of attempts";
  const auto [first, last] = std::minmax_element(attempts.begin(), attempts.end());
  return *first == *last ? fmt::format("attempt {} alone", *first)
                         : fmt::format("attempts {} to {}", *first, *last);
}

[[noreturn]] void refuse(std::uint32_t attempt, const std::string& place,
                         const std::vector<std::uint32_t>& known) {
  throw UsageError(
      fmt::format("--attempt {}: no trace of it in {}; that has {}", attempt, place, those(known)));
}

} // namespace

std::vector<JobFile> attempts_in(const std::string& directory) {
  std::map<std::uint32_t, JobFile> first; // the first job of each attempt
  for (const std::string& name : files::names_in(directory)) {
    JobFile file;
    if ((name != "job" && !name.starts_with("job-")) || !read(fs::path(directory) / name, file)) continue;
    const auto [known, fresh] = first.try_emplace(file.attempt, file);
    if (!fresh && file.began < known->second.began) known->second = file;
  }
  std::vector<JobFile> out;
  out.reserve(first.size());
  for (const auto& [attempt, file] : first) out.push_back(file);
  return out;
}

std::vector<std::string> traces_of_attempt(const std::string& directory, const std::vector<std::string>& traces,
                                           std::optional<std::uint32_t> attempt) {
  const std::vector<JobFile> attempts = attempts_in(directory);
  if (attempts.empty() && !attempt) return traces;
  const auto between = [&](std::uint64_t from, std::uint64_t to) {
    std::vector<std::string> out;
    std::copy_if(traces.begin(), traces.end(), std::back_inserter(out), [&](const std::string& trace) {
      const auto name = trace_name(trace);
      return name && name->start >= from && name->start < to;
    });
    return out;
  };
  std::vector<std::string> found;
  for (std::size_t i = attempts.size(); i-- > 0 && found.empty();) {
    if (attempt && attempts[i].attempt != *attempt) continue;
    const std::uint64_t from = i == 0 ? 0 : attempts[i].began;
    const std::uint64_t to = i + 1 < attempts.size() ? attempts[i + 1].began : ~std::uint64_t{0};
    found = between(from, to);
  }
  if (!found.empty() && !attempt && attempts.size() > 1)
    files::warn(
        fmt::format("{}: reading the newest of {} attempts; memtrace postmortem --attempt N reads another",
                    directory, attempts.size()));
  if (!found.empty()) return found;
  if (!attempt) return traces; // no trace's name has a start time
  std::vector<std::uint32_t> known;
  known.reserve(attempts.size());
  for (const JobFile& file : attempts) known.push_back(file.attempt);
  refuse(*attempt, directory, known);
}

std::vector<std::string> directories_of_attempt(const std::string& place, const std::string& newest,
                                                std::uint32_t attempt) {
  JobFile of;
  if (!read_job_in(newest, of)) refuse(attempt, place, {});
  std::vector<std::string> found;
  std::vector<std::uint32_t> known;
  std::error_code error;
  for (fs::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
    JobFile file;
    if (!at->is_directory(error) || !read_job_in(at->path(), file) || file.command != of.command) continue;
    known.push_back(file.attempt);
    if (file.attempt == attempt) found.push_back(file.directory);
  }
  if (found.empty()) refuse(attempt, place, known);
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace memtrace::report
