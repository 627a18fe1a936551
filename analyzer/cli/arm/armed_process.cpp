// Purpose: finds armed processes by the files that they have mapped, and calls them.
#include "analyzer/cli/arm/armed_process.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "analyzer/files/own_file.h"
#include "analyzer/files/reading.h"
#include "analyzer/job/shared_place.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

using format::ArmedFile;

bool is_armed_file(const ArmedFile& file) {
  return std::memcmp(file.magic, format::kArmedMagic, sizeof file.magic) == 0;
}

} // namespace

std::optional<ArmedProcess> armed_process(const std::string& path) {
  const files::OwnFile file(path);
  ArmedProcess out{path, {}};
  if (!file.is_open() || !file.read(0, &out.file, sizeof out.file) || !is_armed_file(out.file))
    return std::nullopt;
  out.file.trace[sizeof out.file.trace - 1] = '\0';
  return out;
}

std::string armed_file_of(std::uint32_t pid) {
  std::istringstream maps(files::system_text(fmt::format("/proc/{}/maps", pid)));
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos || !line.ends_with(format::kArmedSuffix)) continue;
    // A process in a container has mapped a path of its own root.
    const std::string path = line.substr(at);
    const std::string inside = fmt::format("/proc/{}/root{}", pid, path);
    std::error_code error;
    return fs::equivalent(inside, path, error) || !armed_process(inside) ? path : inside;
  }
  return "";
}

std::vector<ArmedProcess> armed_in(const std::string& directory) {
  std::vector<ArmedProcess> out;
  std::vector<std::string> places = report::local_directories(directory);
  places.push_back(directory);
  for (const std::string& place : places) {
    for (const std::string& name : files::names_in(place)) {
      if (!name.ends_with(format::kArmedSuffix)) continue;
      if (auto process = armed_process((fs::path(place) / name).string())) out.push_back(*std::move(process));
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ArmedProcess& a, const ArmedProcess& b) { return a.file.rank < b.file.rank; });
  return out;
}

bool call(const ArmedProcess& process, std::uint64_t steps) {
  const files::OwnFile file(process.path);
  const std::uint64_t calls = process.file.calls + 1;
  return file.is_open() && file.write(offsetof(ArmedFile, steps), &steps, sizeof steps) &&
         file.write(offsetof(ArmedFile, calls), &calls, sizeof calls);
}

std::optional<format::ArmedState> state_of(const ArmedProcess& process) {
  const auto now = armed_process(process.path);
  if (!now) return std::nullopt;
  return static_cast<format::ArmedState>(now->file.state);
}

} // namespace memtrace::cli
