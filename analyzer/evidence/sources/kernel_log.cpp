// Purpose: reads from a kernel's log which processes the kernel ended.
#include "analyzer/evidence/sources/kernel_log.h"

#include <string>

#include "analyzer/evidence/sources/log_time.h"
#include "analyzer/evidence/text_scan.h"

namespace memtrace::evidence {
namespace {

constexpr std::string_view kOfGroup = "CONSTRAINT_MEMCG";
constexpr std::string_view kInvoked = " invoked oom-killer: ";
constexpr std::string_view kReason = "oom-kill:constraint=";
constexpr std::string_view kKilled = "Killed process ";
constexpr std::string_view kUsage = "memory: usage ";
constexpr std::string_view kTask = "Task in "; // kernels up to 4.18
constexpr std::string_view kLimitOf = " killed as a result of limit of ";
constexpr std::string_view kAll = "Tasks in ";
constexpr std::string_view kAllEnd = " are going to be killed due to memory.oom.group set";
constexpr std::string_view kFaults[] = {": segfault at ", " general protection fault", " trap "};

std::size_t end_of(std::string_view text, std::string_view what) {
  const std::size_t at = text.find(what);
  return at == std::string_view::npos ? at : at + what.size();
}

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

// Returns the bytes of a figure like "anon-rss:918932kB", or kUnknown.
std::uint64_t kilobytes(std::string_view text, std::string_view key) {
  const std::size_t at = end_of(text, key);
  if (at == std::string_view::npos) return kUnknown;
  const auto value = number(text.substr(at));
  return value && *value < kUnknown / 1024 ? *value * 1024 : kUnknown;
}

// The kernel writes a missing limit as the largest number of pages. Returns kUnknown for it.
std::uint64_t limit_of(std::uint64_t bytes) {
  return bytes >= 0x7FFFFFFFFFFFF000 ? kUnknown : bytes;
}

} // namespace

void KernelLog::all(std::string_view text) {
  while (!text.empty()) line(next_line(text));
}

void KernelLog::line(std::string_view text) {
  line(text, line_time(text, near_unix_));
}

void KernelLog::line(std::string_view text, const When& when) {
  if (!from_) from_ = when.boot;
  if (has(text, kInvoked)) {
    said_ = {};
    all_below_.clear();
  } else if (const std::size_t at = text.find(kReason); at != std::string_view::npos) {
    reason(text.substr(at + kReason.size()));
  } else if (const std::size_t usage = end_of(text, kUsage); usage != std::string_view::npos) {
    said_.usage = kilobytes(text, kUsage);
    said_.limit = limit_of(kilobytes(text, ", limit "));
  } else if (has(text, kKilled)) {
    killed(text, when);
  } else if (has(text, kLimitOf)) {
    if (const auto group = between(text, kTask, kLimitOf)) said_.group = *group;
    said_.limited = trimmed(text.substr(end_of(text, kLimitOf)));
    said_.constraint = kOfGroup;
  } else if (has(text, kAllEnd)) {
    if (const auto group = between(text, kAll, kAllEnd)) all_below_ = *group;
  } else {
    fault(text, when);
  }
}

// constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a,task=python,
// pid=7081,uid=0. A path and a name may contain any character, so each ends at the key that must follow it.
void KernelLog::reason(std::string_view text) {
  said_.constraint = text.substr(0, text.find(','));
  if (const auto limited = between(text, ",oom_memcg=", ",task_memcg=")) said_.limited = *limited;
  if (const auto group = between(text, ",task_memcg=", ",task=")) said_.group = *group;
  const std::size_t pid = text.rfind(",pid=");
  if (pid != std::string_view::npos) said_.pid = number(text.substr(pid + 5)).value_or(0);
}

// Killed process 7081 (python) total-vm:1435900kB, anon-rss:918932kB, file-rss:93696kB, shmem-rss:0kB, ...
void KernelLog::killed(std::string_view text, const When& when) {
  // If the kernel kills many processes at once, it writes only this line for each.
  const bool of_group = has(text, "Memory cgroup out of memory");
  text.remove_prefix(text.find(kKilled));
  const std::size_t figures = text.find(") total-vm:");
  const auto pid = number(text.substr(kKilled.size()));
  const std::size_t name = text.find(" (");
  if (figures == std::string_view::npos || !pid || name > figures) return;
  Kill kill;
  if (said_.pid == 0 || said_.pid == *pid) {
    kill = said_;
  } else if (!all_below_.empty()) { // one of several processes that the kernel kills in a group
    kill.constraint = said_.constraint;
    kill.limited = said_.limited;
    kill.usage = said_.usage;
    kill.limit = said_.limit;
  }
  said_.pid = *pid; // the earlier lines are about this process
  if (kill.constraint.empty() && of_group) kill.constraint = kOfGroup;
  kill.when = when;
  kill.pid = *pid;
  kill.name = text.substr(name + 2, figures - name - 2);
  kill.total_vm = kilobytes(text, "total-vm:");
  kill.anon = kilobytes(text, "anon-rss:");
  kill.file = kilobytes(text, "file-rss:");
  kill.shmem = kilobytes(text, "shmem-rss:");
  kill.whole_group = !all_below_.empty();
  if (kill.whole_group && kill.group.empty()) kill.group = all_below_;
  kill.words = trimmed(text);
  into_.kills.push_back(std::move(kill));
}

// python[7081]: segfault at 0 ip 0000... sp 0000... error 4 in libc.so.6[7f...]
// traps: python[7081] trap invalid opcode ip:... sp:... error:0 in ...
void KernelLog::fault(std::string_view text, const When& when) {
  for (const std::string_view what : kFaults) {
    const std::size_t at = text.find(what);
    if (at == std::string_view::npos || at == 0 || text[at - 1] != ']') continue;
    const std::string_view before = text.substr(0, at - 1);
    const std::size_t open = before.rfind('[');
    const auto pid = open == std::string_view::npos ? std::nullopt : number(before.substr(open + 1));
    if (!pid) continue;
    std::string_view name = before.substr(0, open);
    const std::size_t space = name.rfind(": ");
    name = trimmed(space == std::string_view::npos ? name.substr(name.rfind(']') + 1) : name.substr(space + 2));
    into_.faults.push_back({when, *pid, std::string(name), std::string(trimmed(text.substr(text.find(name))))});
    return;
  }
}

bool is_kernel_log(std::string_view text) {
  Evidence found;
  KernelLog(found, 0).all(text);
  return !found.kills.empty() || !found.faults.empty() || has(text, kInvoked) || has(text, "Linux version ");
}

} // namespace memtrace::evidence
