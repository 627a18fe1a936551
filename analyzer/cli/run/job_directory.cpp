// Purpose: predicts the directories in which the recorder will write the traces of a new job.
#include "analyzer/cli/run/job_directory.h"

#include <fmt/core.h>
#include <glob.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>

#include "analyzer/files/environment.h"
#include "analyzer/job/shared_place.h"
#include "preload/format/shared_files.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

std::string name_of_job(std::uint64_t unix_seconds, int pid) {
  const auto seconds = static_cast<time_t>(unix_seconds);
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}-{}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, pid);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// Expands the host and the job. The pid and the rank depend on the process, so they become "*".
std::string expanded(const std::string& pattern, const JobPlace& place) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      out += escaped(pattern.substr(i, 1));
      continue;
    }
    const char what = pattern[++i];
    out += what == 'h'                  ? escaped(place.host)
           : what == 'j'                ? escaped(place.job)
           : what == 'p' || what == 'r' ? "*"
           : what == '%'                ? "%"
                                        : escaped(pattern.substr(i - 1, 2));
  }
  return out;
}

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return out;
}

} // namespace

JobPlace job_place(std::uint64_t unix_seconds, int pid) {
  JobPlace place;
  utsname system{};
  if (::uname(&system) == 0) place.host = system.nodename;
  const std::string joined = files::variable("MEMTRACE_JOB");
  const std::size_t divider = joined.find(';');
  std::string pattern = files::variable("MEMTRACE_OUT");
  if (divider != std::string::npos) {
    place.job = joined.substr(0, divider);
    pattern = joined.substr(divider + 1);
  } else {
    place.job = name_of_job(unix_seconds, pid);
    if (pattern.empty()) pattern = "memtrace-out/%j";
    std::error_code error;
    if (pattern.front() != '/') pattern = fs::current_path(error).string() + "/" + pattern;
  }
  place.requested = expanded(pattern, place);
  place.shared = report::is_shared_place(pattern.substr(0, pattern.find('%')));
  const std::string temporary = files::variable("TMPDIR");
  if (place.shared) {
    const std::string path = fs::path(place.requested).lexically_normal().string();
    for (const std::string& base : report::local_bases(files::variable("MEMTRACE_SPOOL"), temporary))
      place.patterns.push_back(
          escaped(fmt::format("{}/memtrace-{}{}", base, ::geteuid(), format::kLocalFolder)) + path);
  } else {
    place.patterns.push_back(place.requested);
  }
  for (const std::string& base : {temporary, std::string("/tmp")}) {
    if (base.starts_with('/'))
      place.patterns.push_back(escaped(fmt::format("{}/memtrace-{}/{}", base, ::geteuid(), place.job)));
  }
  return place;
}

std::vector<report::TraceName> traces_and_copies_since(const JobPlace& place, std::uint64_t since) {
  std::vector<report::TraceName> out = traces_since(place, since);
  JobPlace copies = place;
  copies.patterns = copy_patterns(place);
  for (report::TraceName& copy : traces_since(copies, since)) {
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const report::TraceName& one) { return one.stem == copy.stem; });
    if (!known) out.push_back(std::move(copy));
  }
  return out;
}

std::vector<std::string> copy_patterns(const JobPlace& place) {
  if (!place.shared) return {};
  return {place.requested, place.requested + "/" + escaped(place.host)};
}

std::vector<report::TraceName> traces_since(const JobPlace& place, std::uint64_t since) {
  std::vector<report::TraceName> traces;
  for (const std::string& pattern : place.patterns) {
    for (const std::string& directory : matching(pattern)) {
      std::error_code error;
      for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
        std::optional<report::TraceName> name = report::trace_name(at->path().string());
        if (name && name->host == place.host && name->start >= since) traces.push_back(*std::move(name));
      }
    }
  }
  const auto order = [](const report::TraceName& a, const report::TraceName& b) {
    return std::tie(a.start, a.path) < std::tie(b.start, b.path);
  };
  std::sort(traces.begin(), traces.end(), order);
  const auto same = [](const report::TraceName& a, const report::TraceName& b) { return a.path == b.path; };
  traces.erase(std::unique(traces.begin(), traces.end(), same), traces.end());
  return traces;
}

} // namespace memtrace::cli
