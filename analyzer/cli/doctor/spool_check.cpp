// Purpose: checks whether the rings of a traced process go to a local disk with enough space.
#include "analyzer/cli/doctor/spool_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>

#include "analyzer/cli/doctor/scratch_folder.h"
#include "analyzer/cli/doctor/traced_run.h"
#include "analyzer/files/reading.h"
#include "analyzer/wording/units.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

// File system types as the kernel names them. A memory file system takes the rings from the program's memory. A
// network file system may be slow or disappear. FUSE may be anything, so it counts as network.
constexpr const char* kMemory[] = {"tmpfs", "ramfs", "hugetlbfs", "devtmpfs"};
constexpr const char* kNetwork[] = {"nfs",      "nfs4",  "cifs", "smb3",   "lustre", "fuse",
                                    "virtiofs", "ceph",  "gpfs", "beegfs", "9p",     "afs",
                                    "coda",     "ocfs2", "gfs2", "panfs",  "vboxsf"};
constexpr std::uint64_t kRings = std::uint64_t{32} << 20; // 1/8 of MEMTRACE_MAX_TRACE's default

template <std::size_t N>
bool is_one(const std::string& type, const char* const (&of)[N]) {
  return std::any_of(std::begin(of), std::end(of),
                     [&](const std::string& name) { return type == name || type.starts_with(name + "."); });
}

// Returns the type of the file system at `place`, from lines such as "36 35 98:0 /root /mnt rw,noatime shared:1
// - ext4 /dev/sda1 rw". The innermost mount above the place counts. If several have that path, the last covers
// the earlier ones.
std::optional<std::string> type_at(const fs::path& place) {
  std::error_code error;
  const std::string path = fs::canonical(place, error).string() + "/";
  std::istringstream mounts(files::system_text("/proc/self/mountinfo"));
  std::optional<std::string> type;
  std::size_t longest = 0;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string word, point;
    for (int i = 0; i < 5; ++i) words >> point;
    if (point.empty() || point.back() != '/') point += '/';
    if (!path.starts_with(point) || point.size() < longest) continue;
    while (words >> word && word != "-") {
    }
    if (!(words >> word)) continue;
    longest = point.size();
    type = word;
  }
  return type;
}

std::string where_rings_were(const fs::path& traces, const trace::Facts& facts) {
  const auto elsewhere = facts.note("rings");
  return elsewhere ? fs::path(*elsewhere).parent_path().string() : traces.string();
}

} // namespace

Check check_spool(const std::string& library) {
  const fs::path place = place_of_traces();
  const Folder beside(place), temporary(temporary_place());
  const bool there = !beside.path().empty();
  const fs::path& traces = there ? beside.path() : temporary.path();
  if (library.empty() || traces.empty() ||
      run_traced({"/bin/sh", "-c", ":"}, library, traces, {"MEMTRACE_SPOOL"}) != 0)
    return {"spool", false, "no process can be traced here"};
  const auto facts = facts_in(traces);
  if (!facts)
    return {"spool", false,
            fmt::format("rings can be nowhere: neither in {} nor in {}", place.string(),
                        temporary_place().string())};
  std::string rings = where_rings_were(traces, *facts);
  const bool are_beside = rings == traces.string();
  if (are_beside) rings = traces.parent_path().string();
  std::string text = fmt::format("rings go to {}", rings);
  const char* const wanted = std::getenv("MEMTRACE_SPOOL");
  std::error_code error;
  const bool refused = wanted != nullptr && *wanted != '\0' && !fs::equivalent(wanted, rings, error);
  if (refused) text += fmt::format(", for none can be in MEMTRACE_SPOOL={}", wanted);
  if (!there) text += fmt::format("; traces too, for {} cannot be written", place.string());
  const std::string type = type_at(rings).value_or("a file system that cannot be asked");
  const bool memory = is_one(type, kMemory), network = is_one(type, kNetwork);
  text += fmt::format(": {}, {}", type, memory ? "in memory" : network ? "a network" : "local");
  const fs::space_info space = fs::space(rings, error);
  if (!error) text += fmt::format(", {} free", report::sized(space.available));
  const bool room = !error && space.available >= kRings;
  if (!room) text += fmt::format("; a process may need {} for them", report::sized(kRings));
  const bool works = !memory && !network && room && !refused;
  if (!works) text += "; set MEMTRACE_SPOOL to a directory on a local disk";
  return {"spool", works, text};
}

} // namespace memtrace::cli
