// Purpose: the local directories that stand for a job's directory on a shared file system.
#include "analyzer/job/shared_place.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/files/environment.h"
#include "analyzer/files/packed_files.h"
#include "analyzer/files/reading.h"
#include "analyzer/job/trace_name.h"
#include "preload/format/file_systems.h"
#include "preload/format/setting_values.h"
#include "preload/format/shared_files.h"

namespace memtrace::report {
namespace {

namespace fs = std::filesystem;

constexpr char kTraceSuffix[] = ".memtrace";

// True if the directory belongs to this user, or to the owner of the job's directory, and only they can write
// in it.
bool is_private(const std::string& directory, unsigned owner) {
  struct stat status {};
  return ::lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == owner &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::set<unsigned> users_of(const std::string& directory) {
  std::set<unsigned> out{::geteuid()};
  struct stat status {};
  if (::stat(directory.c_str(), &status) == 0) out.insert(status.st_uid);
  return out;
}

// The recorder knows the directory by the path that the user gave, without ".." and ".".
std::set<std::string> paths_of(const std::string& directory) {
  std::error_code error;
  std::set<std::string> out;
  for (const fs::path& path : {fs::absolute(directory, error), fs::weakly_canonical(directory, error)}) {
    std::string text = path.lexically_normal().string();
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    if (!text.empty() && text.front() == '/') out.insert(text);
  }
  return out;
}

void add_traces(const std::string& directory, bool of_host, std::map<std::string, std::string>& out) {
  const std::string host = fs::path(directory).filename().string();
  for (const std::string& name : files::names_in(directory)) {
    if (!name.ends_with(kTraceSuffix)) continue;
    if (of_host) {
      const auto parts = trace_name(name);
      if (!parts || parts->host != host) continue;
    }
    out[name] = (fs::path(directory) / name).string();
  }
}

} // namespace

bool is_shared_place(const std::string& directory) {
  const std::string setting = files::variable("MEMTRACE_SHARED");
  if (setting == "off") return false;
  if (setting == "on" || (!setting.empty() && format::parse_seconds(setting.c_str()) != 0)) return true;
  std::error_code error;
  fs::path place = fs::absolute(directory, error).lexically_normal();
  while (place.has_relative_path() && !fs::exists(place, error)) place = place.parent_path();
  struct statfs info {};
  return ::statfs(place.c_str(), &info) == 0 && format::is_network(static_cast<std::uint32_t>(info.f_type));
}

std::vector<std::string> local_bases(const std::string& spool, const std::string& temporary) {
  std::vector<std::string> out;
  for (const std::string& base : {spool, temporary, std::string("/tmp")})
    if (base.starts_with('/') && std::find(out.begin(), out.end(), base) == out.end()) out.push_back(base);
  return out;
}

std::vector<std::string> local_directories(const std::string& directory,
                                           const std::vector<std::string>& bases) {
  std::vector<std::string> out;
  std::error_code error;
  for (const std::string& base : bases) {
    for (const unsigned user : users_of(directory)) {
      const std::string own = fmt::format("{}/memtrace-{}", base, user);
      if (!is_private(own, user)) continue;
      for (const std::string& path : paths_of(directory)) {
        std::string local = fmt::format("{}{}{}", own, format::kLocalFolder, path);
        if (fs::is_directory(local, error)) out.push_back(std::move(local));
      }
    }
  }
  return out;
}

std::vector<std::string> local_directories(const std::string& directory) {
  return local_directories(directory,
                           local_bases(files::variable("MEMTRACE_SPOOL"), files::variable("TMPDIR")));
}

std::string shared_directory_of(const std::string& local) {
  const std::string below = fmt::format("/memtrace-{}{}/", ::geteuid(), format::kLocalFolder);
  const std::size_t at = local.find(below);
  return at == std::string::npos ? "" : local.substr(at + below.size() - 1);
}

std::vector<std::string> traces_of(const std::string& directory) {
  std::map<std::string, std::string> found; // by file name
  add_traces(directory, false, found);
  if (files::PackedFiles::of_command().has(directory)) {
    std::vector<std::string> packed;
    packed.reserve(found.size());
    for (const auto& [name, path] : found) packed.push_back(path);
    return packed;
  }
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (fs::is_directory(at->symlink_status(unknown))) add_traces(at->path().string(), true, found);
  }
  for (const std::string& local : local_directories(directory)) add_traces(local, false, found);
  std::vector<std::string> out;
  out.reserve(found.size());
  for (const auto& [name, path] : found) out.push_back(path);
  return out;
}

} // namespace memtrace::report
