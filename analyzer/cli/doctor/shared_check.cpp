// Purpose: checks how the traces of a job reach a shared file system, and what is lost if the local disk goes
// with the job.
#include "analyzer/cli/doctor/shared_check.h"

#include <fmt/core.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "analyzer/cli/doctor/scratch_folder.h"
#include "analyzer/files/environment.h"
#include "analyzer/files/reading.h"
#include "analyzer/job/shared_place.h"
#include "preload/format/file_systems.h"
#include "preload/format/setting_values.h"
#include "preload/format/shared_files.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

struct MountHere {
  std::string type = "an unknown file system";
  bool goes = false; // its files are removed with the job
};

// The innermost mount counts. If several have one path, the last covers the others.
MountHere mount_at(const std::string& path) {
  MountHere out;
  std::size_t longest = 0;
  std::istringstream mounts(files::system_text("/proc/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);) {
    const format::Mount mount = format::parse_mount(line);
    if (mount.point.size() < longest || !format::is_at(mount, path)) continue;
    longest = mount.point.size();
    out = {std::string(mount.type), format::goes_with_job(mount)};
  }
  return out;
}

// As the recorder chooses (preload/job/local_place.cpp): a disk, or memory if the user asked for it.
bool is_usable(const std::string& base, bool asked_for) {
  struct statfs info {};
  if (::statfs(base.c_str(), &info) != 0) return false;
  const auto type = static_cast<std::uint32_t>(info.f_type);
  if (format::is_network(type) || (format::is_memory(type) && !asked_for)) return false;
  return !Folder(base).path().empty();
}

// Returns the directory for the local files, or "".
std::string local_base() {
  const std::string spool = files::variable("MEMTRACE_SPOOL"), setting = files::variable("MEMTRACE_SHARED");
  const bool on = setting == "on" || format::parse_seconds(setting.c_str()) != 0;
  for (const std::string& base : report::local_bases(spool, files::variable("TMPDIR")))
    if (is_usable(base, on || base == spool)) return base;
  return "";
}

std::uint64_t seconds_between(bool goes) {
  const std::uint64_t asked = format::parse_seconds(files::variable("MEMTRACE_SHARED").c_str());
  return asked != 0 ? asked : goes ? format::kCopySecondsIfLost : format::kCopySeconds;
}

} // namespace

std::optional<Check> check_shared() {
  const std::string wanted = wanted_directory();
  if (!report::is_shared_place(wanted.substr(0, wanted.find('%')))) return std::nullopt;
  const std::string type = mount_at(place_of_traces().string()).type, base = local_base();
  if (base.empty())
    return Check{"shared", false,
                 fmt::format("{0} is on {1}, and no local disk is writable: each process writes to {0} several "
                             "times a second; set MEMTRACE_SPOOL to a directory on a local disk",
                             wanted, type)};
  const MountHere local = mount_at(base);
  std::string text = fmt::format(
      "{0} is on {1}: each process records to {2} ({3}), and copies to {0} every {4} s, at once near a "
      "limit, and at its end",
      wanted, type, base, local.type, seconds_between(local.goes));
  if (local.goes)
    text += fmt::format(
        "; {} is removed with the job: a kill then loses what was recorded since the last copy, and the "
        "windows "
        "of a long run; set MEMTRACE_SPOOL to a directory that stays",
        base);
  return Check{"shared", !local.goes, text};
}

} // namespace memtrace::cli
