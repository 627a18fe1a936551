// Purpose: reads how much of the limit of one memory cgroup is used, again and again and cheaply.
#include "analyzer/watch/cgroup_memory.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "analyzer/files/writing.h"

namespace memtrace::watch {
namespace {

constexpr std::uint64_t kNoLimit = 0x7FFFFFFFFFFFF000; // the value of version 1 if there is no limit

} // namespace

CgroupMemory::CgroupMemory(const CgroupFolder& folder)
    : folder_(folder),
      charge_(folder.folder + (folder.version_two ? "/memory.current" : "/memory.usage_in_bytes")),
      limit_(folder.folder + (folder.version_two ? "/memory.max" : "/memory.limit_in_bytes")),
      stat_(folder.folder + "/memory.stat"),
      events_(folder.folder + (folder.version_two ? "/memory.events" : "/memory.oom_control")) {}

CgroupMemory::~CgroupMemory() {
  if (alarm_ >= 0) ::close(alarm_);
}

std::optional<CgroupCharge> CgroupMemory::read(const Threshold& threshold) {
  const auto limit = limit_.number();
  const auto charge = charge_.number();
  if (!limit || *limit >= kNoLimit || *limit == 0 || !charge) return std::nullopt;
  CgroupCharge out{*charge, *charge, *limit};
  if (*charge >= threshold.level(*limit)) out.held = *charge - std::min(*charge, clean_cache());
  return out;
}

// The same figure as the recorder's (Charge::held in preload/kernel/cgroup.h).
std::uint64_t CgroupMemory::clean_cache() {
  const std::string_view stat = stat_.text();
  const auto figure = [stat](const char* key) { return number_after(stat, key).value_or(0); };
  const std::uint64_t file = figure(folder_.version_two ? "file" : "total_cache");
  const std::uint64_t kept = folder_.version_two
                                 ? figure("shmem") + figure("file_dirty") + figure("file_writeback")
                                 : figure("total_shmem") + figure("total_dirty") + figure("total_writeback");
  return file - std::min(file, kept);
}

// v1 takes "EVENTFD FILE LEVEL" for a threshold. A limit that changed needs another threshold.
int CgroupMemory::alarm(const Threshold& threshold) {
  if (folder_.version_two) return events_.descriptor();
  const std::uint64_t limit = limit_.number().value_or(0);
  if (limit == 0 || limit >= kNoLimit) return -1;
  const std::uint64_t level = threshold.level(limit);
  if (level == alarm_level_) return alarm_;
  alarm_level_ = level;
  if (alarm_ >= 0) ::close(alarm_);
  alarm_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (alarm_ < 0) return -1;
  const std::string line =
      std::to_string(alarm_) + " " + std::to_string(charge_.descriptor()) + " " + std::to_string(level);
  if (files::write_system(folder_.folder + "/cgroup.event_control", line)) return alarm_;
  ::close(alarm_);
  return alarm_ = -1;
}

short CgroupMemory::alarm_events() const {
  return folder_.version_two ? POLLPRI : POLLIN;
}

void CgroupMemory::take_alarm() {
  std::uint64_t count = 0;
  if (folder_.version_two) {
    events_.text(); // the kernel reports the next event after this reading
  } else if (alarm_ >= 0 && ::read(alarm_, &count, sizeof count) < 0) {
    return; // it was taken already
  }
}

} // namespace memtrace::watch
