// Purpose: the counters of memory cgroups that are still there.
#include "analyzer/evidence/sources/cgroup_counters.h"

#include <filesystem>

#include "analyzer/evidence/text_scan.h"
#include "analyzer/files/reading.h"

namespace memtrace::evidence {
namespace {

// Of a file that has one number, or "max".
std::uint64_t figure(const std::string& path) {
  return number(files::system_text(path)).value_or(kUnknown);
}

// After `key` and a blank, at the start of a line.
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
  constexpr std::uint64_t kNoLimit = 0x7FFFFFFFFFFFF000; // what version 1 says when there is none
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
