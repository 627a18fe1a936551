// Purpose: reads from the logs of managers which processes they ended: systemd-oomd, earlyoom, Ray, torchrun.
#include "analyzer/evidence/sources/manager_log.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "analyzer/evidence/sources/log_time.h"
#include "analyzer/evidence/text_scan.h"

namespace memtrace::evidence {
namespace {

constexpr char kTorchrun[] = "torchrun";

bool holds(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

// Returns the number after `key`, or nullopt.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? std::nullopt : number(text.substr(at + key.size()));
}

// Returns the pid after `key`, or nullopt. No process has the pid 0.
std::optional<std::uint64_t> pid_after(std::string_view text, std::string_view key) {
  const auto pid = number_after(text, key);
  return pid && *pid != 0 ? pid : std::nullopt;
}

// Returns the text from `what` on, without what stands before it in the line; "" if it is not there.
std::string_view from(std::string_view text, std::string_view what) {
  const std::size_t at = text.find(what);
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

// Returns the negative or positive number after `key`.
std::optional<int> status_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  const bool negative = text.starts_with('-');
  const auto value = number(text.substr(negative ? 1 : 0));
  if (!value || *value > 255) return std::nullopt;
  return negative ? -static_cast<int>(*value) : static_cast<int>(*value);
}

} // namespace

void ManagerLog::all(std::string_view text) {
  while (!text.empty()) line(next_line(text));
}

void ManagerLog::line(std::string_view text) {
  const When when = line_time(text, near_unix_);
  if (when.boot || when.unix) when_ = when;
  if (!oomd(text) && !earlyoom(text) && !ray(text) && !torchrun(text) && !torchrun_failure(text))
    torchrun_host(text);
}

void ManagerLog::add(ManagerKill kill, std::string_view words) {
  constexpr std::size_t kMostWords = 400;
  kill.when = when_;
  kill.words = trimmed(words.substr(0, kMostWords));
  into_.manager_kills.push_back(std::move(kill));
}

// From src/oom/oomd-manager.c of systemd:
// "Killed /a/b.scope due to memory used (...) / total (...) and swap used (...) / total (...) being more than
// 90%" "Killed /a/b.scope due to memory pressure for /a being 61.01% > 50.00% for > 20s with reclaim activity"
// and, in newer versions, "Marked /a/b.scope for killing due to memory ...". It sends SIGKILL.
bool ManagerLog::oomd(std::string_view text) {
  auto group = between(text, "Killed /", " due to memory ");
  std::string_view words = from(text, "Killed /");
  if (!group || !holds(words, " due to memory ")) {
    group = between(text, "Marked /", " for killing due to memory ");
    words = from(text, "Marked /");
    if (!group || !holds(words, " for killing due to memory ")) return false;
  }
  ManagerKill kill;
  kill.manager = "systemd-oomd";
  kill.group = "/" + std::string(*group);
  kill.signal = SIGKILL;
  kill.for_memory = true;
  add(std::move(kill), words);
  return true;
}

// From kill.c of earlyoom: sending SIGTERM to process 7 uid 1000 "python": oom_score 900, VmRSS 2800 MiB, ...
// Version 1.7 and older have "badness" for "oom_score", and the oldest no uid. A script may write a similar
// line.
bool ManagerLog::earlyoom(std::string_view text) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    const std::string_view key =
        signal == SIGTERM ? "sending SIGTERM to process " : "sending SIGKILL to process ";
    const auto pid = pid_after(text, key);
    const std::string_view words = from(text, key);
    if (!pid || (!holds(words, "\": oom_score ") && !holds(words, "\": badness "))) continue;
    ManagerKill kill;
    kill.manager = "earlyoom";
    kill.pid = *pid;
    kill.signal = signal;
    kill.for_memory = true;
    add(std::move(kill), words);
    return true;
  }
  return false;
}

// From Ray's documentation of its memory monitor, in the raylet's log and in the driver's error:
// "Memory on the node (IP: ...) where the task (task ID: ..., name=f, pid=7, memory used=24.99GB) was running
// was 32.62GB / 33.28GB (0.98), which exceeds the memory usage threshold of 0.96. Ray killed this worker (ID:
// ...)" Before 2.2: "Worker PID: 7 ... Task was killed due to the node running low on memory." From 2.56 on:
// "Selected to kill: (Task: ..., pid=7, actual memory used=0.67GB, worker ID=...)"
bool ManagerLog::ray(std::string_view text) {
  std::optional<std::uint64_t> pid;
  std::string_view words;
  if (words = from(text, "Memory on the node (IP: "); holds(words, "Ray killed this worker")) {
    pid = pid_after(words, "pid=");
  } else if (words = from(text, "Selected to kill: ("); holds(words, "actual memory used=")) {
    pid = pid_after(words, "pid=");
  } else if (words = from(text, "Worker PID: ");
             holds(words, "Task was killed due to the node running low on memory")) {
    pid = pid_after(words, "Worker PID: ");
  }
  if (!pid) return false;
  ManagerKill kill;
  kill.manager = "Ray";
  kill.pid = *pid;
  kill.for_memory = true;
  add(std::move(kill), words);
  return true;
}

// From torch/distributed/elastic/multiprocessing/api.py of PyTorch: "Sending process 7 closing signal SIGTERM",
// and "Unable to shutdown process 7 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL" 30 s later.
bool ManagerLog::torchrun(std::string_view text) {
  constexpr std::string_view kSending = "Sending process ", kForced = "Unable to shutdown process ";
  ManagerKill kill;
  kill.manager = kTorchrun;
  std::string_view words = from(text, kSending);
  if (const auto pid = pid_after(words, kSending); pid && holds(words, " closing signal SIG")) {
    kill.pid = *pid;
    kill.signal = holds(words, " closing signal SIGTERM") ? std::optional(SIGTERM) : std::nullopt;
    add(std::move(kill), words);
    return true;
  }
  words = from(text, kForced);
  if (const auto pid = pid_after(words, kForced); pid && holds(words, ", forcefully exiting via ")) {
    kill.pid = *pid;
    kill.signal = SIGKILL;
    add(std::move(kill), words);
    return true;
  }
  return false;
}

// From the same file: "failed (exitcode: -9) local_rank: 3 (pid: 7) of binary: /usr/bin/python". It follows the
// lines about the processes that torchrun ended because of it.
bool ManagerLog::torchrun_failure(std::string_view text) {
  const auto status = status_after(text, "failed (exitcode: ");
  const auto pid = pid_after(text, "(pid: ");
  const auto rank = number_after(text, " local_rank: ");
  if (!status || !pid || !rank) return false;
  for (std::size_t i = closed_; i < into_.manager_kills.size(); ++i)
    if (into_.manager_kills[i].manager == kTorchrun) into_.manager_kills[i].failed = *pid;
  failures_[*pid] = {into_.statements.size(), closed_, into_.manager_kills.size()};
  closed_ = into_.manager_kills.size();
  Statement statement;
  statement.source = kTorchrun;
  statement.who = "local rank " + std::to_string(*rank) + ", pid " + std::to_string(*pid);
  statement.pid = *pid;
  if (*status < 0) {
    statement.signal = -*status;
  } else {
    statement.code = *status;
  }
  statement.ended = when_;
  into_.statements.push_back(std::move(statement));
  return true;
}

// From torch/distributed/elastic/multiprocessing/errors of PyTorch: the summary after the failure has the lines
// "  host      : node7" and "  exitcode  : -9 (pid: 7)". The other processes of that torchrun are on this host.
void ManagerLog::torchrun_host(std::string_view text) {
  if (const auto name = between(text, " host      : ", " ")) host_ = trimmed(*name);
  // Where the name of the machine is not resolved, Python's getfqdn() returns this name on each host.
  if (host_.starts_with("localhost")) host_.clear();
  const auto pid = pid_after(text, "(pid: ");
  if (!pid || host_.empty() || !holds(text, " exitcode  : ")) return;
  const auto failure = failures_.find(*pid);
  if (failure == failures_.end()) return;
  const TorchrunFailure& of = failure->second;
  into_.statements[of.statement].host = host_;
  for (std::size_t i = of.first_kill; i < of.end_of_kills; ++i)
    if (into_.manager_kills[i].manager == kTorchrun) into_.manager_kills[i].host = host_;
  failures_.erase(failure);
}

bool is_manager_log(std::string_view text) {
  Evidence found;
  ManagerLog(found, 0).all(text);
  return !found.manager_kills.empty() || !found.statements.empty();
}

} // namespace memtrace::evidence
