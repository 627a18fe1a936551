// Purpose: finds the folders of the memory cgroup of a process and of its ancestors, v1 or v2.
#include "analyzer/watch/cgroup_folders.h"

#include <filesystem>
#include <optional>
#include <sstream>

#include "analyzer/files/reading.h"

namespace memtrace::watch {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLevels = 32;

struct Membership {
  std::string path;
  bool version_two = false;
};

// A controller that version 1 has mounted is not in version 2.
std::optional<Membership> membership_of(const std::string& text) {
  std::optional<Membership> two;
  std::istringstream file(text);
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find(",memory,") != std::string::npos) return Membership{line.substr(second + 1), false};
    if (line.starts_with("0::")) two = Membership{line.substr(second + 1), true};
  }
  return two;
}

struct Mounted {
  std::string root; // the cgroup that is at the mount point
  fs::path point;
};

// The root and the mount point are the fourth and fifth word of a line: "118 114 0:32 /pod/ctr
// /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory".
std::optional<Mounted> mount_of(bool version_two) {
  const std::string type = version_two ? " - cgroup2 " : " - cgroup ";
  std::istringstream mounts(files::system_text("/proc/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t end = line.find(type);
    if (end == std::string::npos) continue;
    if (!version_two && ("," + line.substr(line.rfind(' ') + 1) + ",").find(",memory,") == std::string::npos)
      continue;
    std::istringstream words(line.substr(0, end));
    std::string word;
    Mounted out;
    std::string point;
    words >> word >> word >> word >> out.root >> point;
    out.point = point;
    return out;
  }
  return std::nullopt;
}

// A container may have its own cgroup alone mounted, and the path may be the host's or end in "/..".
fs::path folder_in(const Mounted& mounted, const std::string& path) {
  std::error_code error;
  std::string below = path;
  if (mounted.root.size() > 1 && (path == mounted.root || path.starts_with(mounted.root + "/")))
    below = path.substr(mounted.root.size());
  fs::path folder = mounted.point / fs::path(below).relative_path();
  if (below.find("..") == std::string::npos && fs::is_directory(folder, error)) return folder;
  return mounted.point;
}

} // namespace

std::string cgroup_text(int pid) {
  return files::system_text("/proc/" + std::to_string(pid) + "/cgroup");
}

std::vector<CgroupFolder> memory_cgroups(const std::string& text) {
  std::vector<CgroupFolder> out;
  const std::optional<Membership> own = membership_of(text);
  if (!own) return out;
  const std::optional<Mounted> mounted = mount_of(own->version_two);
  if (!mounted) return out;
  const char* const limit = own->version_two ? "memory.max" : "memory.limit_in_bytes";
  std::string path = own->path;
  fs::path folder = folder_in(*mounted, path);
  std::error_code error;
  for (int i = 0; i < kMostLevels; ++i) {
    if (fs::exists(folder / limit, error)) out.push_back({path, folder.string(), own->version_two});
    if (folder == mounted->point || !folder.has_relative_path()) break;
    folder = folder.parent_path();
    path = fs::path(path).parent_path().string();
  }
  return out;
}

} // namespace memtrace::watch
