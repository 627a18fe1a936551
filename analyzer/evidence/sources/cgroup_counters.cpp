// Purpose: reads the counters of memory cgroups that still exist.
#include "analyzer/evidence/sources/cgroup_counters.h"

#include <filesystem>

#include "analyzer/evidence/text_scan.h"
#include "analyzer/files/reading.h"

namespace memtrace::evidence {
namespace {

// Returns the number in a file that has one number or "max". Returns kUnknown for "max".
std::uint64_t figure(const std::string& path) {
  return number(files::system_text(path)).value_or(kUnknown);
}

// Returns the number that follows `key` and a blank at the start of a line, or kUnknown.
std::uint64_t figure(const std::string& text, std::string_view key) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = next_line(rest);
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ')
      return number(line.substr(key.size() + 1)).value_or(kUnknown);
  }
  return kUnknown;
}

} // namespace

CgroupState read_group(const std::string& path, const std::string& root) {
  // the value that version 1 reports if there is no limit
  constexpr std::uint64_t kNoLimit = 0x7FFFFFFFFFFFF000;
  CgroupState group;
  group.path = path;
  const std::string at = root + path + "/";
  std::error_code error;
  group.version_two = !std::filesystem::exists(at + "memory.limit_in_bytes", error);
  group.there = !group.version_two || std::filesystem::exists(at + "memory.stat", error);
  if (!group.there) return group;
  if (group.version_two) {
    const std::string events = files::system_text(at + "memory.events");
    group.charge = figure(at + "memory.current");
    group.highest = figure(at + "memory.peak");
    group.limit = figure(at + "memory.max");
    group.oom_kills = figure(events, "oom_kill");
    group.met = figure(events, "max");
    group.kills_all = figure(at + "memory.oom.group") == 1;
  } else {
    group.charge = figure(at + "memory.usage_in_bytes");
    group.highest = figure(at + "memory.max_usage_in_bytes");
    group.limit = figure(at + "memory.limit_in_bytes");
    if (group.limit >= kNoLimit) group.limit = kUnknown;
    group.oom_kills = figure(files::system_text(at + "memory.oom_control"), "oom_kill");
    group.met = figure(at + "memory.failcnt");
  }
  return group;
}

} // namespace memtrace::evidence
