// Purpose: checks whether the memory counters of this process's cgroup can be read.
#include "analyzer/cli/doctor/cgroup_check.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "analyzer/files/reading.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  const std::string text = files::system_text(path);
  return text.substr(0, text.find('\n'));
}

std::string limit_text(const std::string& value) {
  const auto bytes = std::strtoull(value.c_str(), nullptr, 10);
  if (value == "max" || bytes == 0 || bytes >= std::uint64_t{1} << 62) return "without a limit of its own";
  return fmt::format("limit {:.2f} GiB", static_cast<double>(bytes) / (1 << 30));
}

// Returns the folder of the cgroup `path`, or `standard` below which it usually lies. A container may have its
// own cgroup alone mounted. The root and the mount point are the fourth and fifth word: "118 114 0:32 /pod/ctr
// /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory".
fs::path folder_of(const std::string& path, const std::string& type, const std::string& option,
                   const fs::path& standard) {
  std::istringstream mounts(files::system_text("/proc/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t end = line.find(" - " + type + " ");
    if (end == std::string::npos) continue;
    if (!option.empty() &&
        ("," + line.substr(line.rfind(' ') + 1) + ",").find("," + option + ",") == std::string::npos)
      continue;
    std::istringstream words(line.substr(0, end));
    std::string word, root, point;
    words >> word >> word >> word >> root >> point;
    if (root.size() > 1 && (path == root || path.starts_with(root + "/")))
      return fs::path(point) / fs::path(path.substr(root.size())).relative_path();
  }
  return standard / fs::path(path).relative_path();
}

} // namespace

Check check_cgroup() {
  std::istringstream file(files::system_text("/proc/self/cgroup"));
  for (std::string line; std::getline(file, line);) {
    const std::size_t second = line.find(':', line.find(':') + 1);
    const std::string path = line.substr(second + 1);
    if (line.find(":memory:") != std::string::npos) {
      const fs::path folder = folder_of(path, "cgroup", "memory", "/sys/fs/cgroup/memory");
      const std::string limit = first_line(folder / "memory.limit_in_bytes");
      if (limit.empty()) return {"cgroup", false, "version 1, " + path + ": its counters are not mounted here"};
      return {"cgroup", true, "version 1, " + path + ", " + limit_text(limit)};
    }
    if (line.rfind("0::", 0) == 0) {
      const fs::path folder = folder_of(path, "cgroup2", "", "/sys/fs/cgroup");
      std::error_code error;
      if (fs::exists(folder / "memory.current", error))
        return {"cgroup", true, "version 2, " + path + ", " + limit_text(first_line(folder / "memory.max"))};
    }
  }
  return {"cgroup", false, "no memory controller can be read: kills are told from the kernel's log alone"};
}

} // namespace memtrace::cli
