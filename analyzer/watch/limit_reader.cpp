// Purpose: the limits that would end the processes of a job, and how much of each is used now.
#include "analyzer/watch/limit_reader.h"

#include <sys/resource.h>

#include <algorithm>

#include "analyzer/files/reading.h"
#include "analyzer/watch/process_tree.h"

namespace memtrace::watch {
namespace {

constexpr std::uint64_t kKiB = 1024;

// Returns 0 if there is no such limit.
std::uint64_t limit_of(int pid, __rlimit_resource which) {
  rlimit limit{};
  if (::prlimit(pid, which, nullptr, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  return limit.rlim_cur;
}

} // namespace

void LimitReader::follow(const std::vector<int>& pids) {
  std::map<std::string, std::unique_ptr<CgroupMemory>> cgroups;
  std::map<std::string, std::vector<CgroupFolder>> known;
  processes_.clear();
  for (const int pid : pids) {
    const std::string text = cgroup_text(pid);
    const auto seen = known_.find(text);
    std::vector<CgroupFolder>& folders = known[text];
    if (folders.empty()) folders = seen != known_.end() ? seen->second : memory_cgroups(text);
    for (const CgroupFolder& folder : folders) {
      if (cgroups.contains(folder.folder)) continue;
      const auto before = cgroups_.find(folder.folder);
      cgroups[folder.folder] =
          before != cgroups_.end() ? std::move(before->second) : std::make_unique<CgroupMemory>(folder);
    }
    if (const std::uint64_t limit = limit_of(pid, RLIMIT_AS); limit != 0)
      processes_.push_back({pid, LimitKind::address_space, limit});
    if (const std::uint64_t limit = limit_of(pid, RLIMIT_DATA); limit != 0)
      processes_.push_back({pid, LimitKind::data, limit});
  }
  cgroups_ = std::move(cgroups);
  known_ = std::move(known);
}

std::vector<LimitUse> LimitReader::read() {
  std::vector<LimitUse> out;
  for (const auto& [folder, cgroup] : cgroups_)
    if (const auto charge = cgroup->read(threshold_))
      out.push_back({LimitKind::cgroup, cgroup->folder().path, 0, charge->held, charge->limit});
  read_processes(out);
  read_machine(out);
  return out;
}

void LimitReader::read_processes(std::vector<LimitUse>& out) const {
  for (const OfProcess& of : processes_) {
    if (of.kind == LimitKind::address_space) {
      if (const auto size = process_size(of.pid))
        out.push_back({of.kind, "", of.pid, size->address_space, of.limit});
      continue;
    }
    const std::string status = files::system_text("/proc/" + std::to_string(of.pid) + "/status");
    if (const auto data = number_after(status, "VmData"))
      out.push_back({of.kind, "", of.pid, *data * kKiB, of.limit});
  }
}

void LimitReader::read_machine(std::vector<LimitUse>& out) {
  const std::string_view text = machine_.text();
  const auto total = number_after(text, "MemTotal");
  const auto available = number_after(text, "MemAvailable");
  if (!total || !available || *available > *total) return;
  out.push_back({LimitKind::machine, "", 0, (*total - *available) * kKiB, *total * kKiB});
}

std::uint64_t LimitReader::until_near(const std::vector<LimitUse>& uses) const {
  std::uint64_t least = ~std::uint64_t{0};
  for (const LimitUse& use : uses) {
    const std::uint64_t level = threshold_.level(use.limit);
    if (use.used < level) least = std::min(least, level - use.used);
  }
  return least;
}

void LimitReader::add_alarms(std::vector<pollfd>& waiting) {
  for (const auto& [folder, cgroup] : cgroups_)
    if (const int fd = cgroup->alarm(threshold_); fd >= 0) waiting.push_back({fd, cgroup->alarm_events(), 0});
}

void LimitReader::take_alarms(const std::vector<pollfd>& waited) {
  for (const auto& [folder, cgroup] : cgroups_) {
    const int fd = cgroup->alarm(threshold_);
    for (const pollfd& one : waited)
      if (fd >= 0 && one.fd == fd && one.revents != 0) cgroup->take_alarm();
  }
}

} // namespace memtrace::watch
