// Purpose: checks whether a cluster of Ray on this machine starts its workers with memtrace.
#include "analyzer/cli/doctor/ray_check.h"

#include <fmt/core.h>

#include <cctype>
#include <filesystem>
#include <string>

#include "analyzer/files/reading.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

bool is_raylet(const fs::path& process) {
  return files::system_text(process / "comm") == "raylet\n";
}

} // namespace

std::optional<Check> check_ray() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string pid = entry.path().filename();
    if (std::isdigit(static_cast<unsigned char>(pid.front())) == 0 || !is_raylet(entry.path())) continue;
    const std::string maps = files::system_text(entry.path() / "maps");
    if (maps.empty()) continue; // another user's, or it has ended
    if (maps.find("/libmemtrace.so") != std::string::npos)
      return Check{"Ray", true,
                   fmt::format("raylet (pid {}) runs with memtrace, and its workers do, too", pid)};
    return Check{
        "Ray", false,
        fmt::format("raylet (pid {}) was started without memtrace, and it starts the workers: a program "
                    "that connects to it is traced, its tasks and actors are not; give the variables of "
                    "memtrace env --format json to ray.init(runtime_env={{\"env_vars\": ...}})",
                    pid)};
  }
  return std::nullopt;
}

} // namespace memtrace::cli
