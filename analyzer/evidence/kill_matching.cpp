// Purpose: matches evidence with the processes that it is about.
#include "analyzer/evidence/kill_matching.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analyzer/evidence/event_time.h"

namespace memtrace::evidence {
namespace {

constexpr double kStuck = 10;  // s: same as kLate, if only time, cgroup and size match
constexpr double kLate = 60;   // s: a process may be stuck in reclaim for this long before the kernel kills it
constexpr double kAtOnce = 10; // s: between the last record and the end of its container

bool says_group(const Kill& kill, const Subject& subject) {
  return !kill.group.empty() && subject.group.size() > 1;
}

// True if the killed process is about as large as at the last sample, or larger because it grew since.
bool same_size(const Kill& kill, const Subject& subject) {
  if (kill.anon == kUnknown || subject.anon == 0) return true;
  const auto at_kill = static_cast<double>(kill.anon), before = static_cast<double>(subject.anon);
  constexpr double kMiB = 1 << 20;
  return at_kill >= 0.7 * before - 32 * kMiB && at_kill <= 3 * before + 1024 * kMiB;
}

bool by_pid(const Kill& kill, const Subject& subject) {
  return subject.first_pids.value_or(false) && kill.pid == subject.pid && in_time(kill.when, subject, kLate);
}

// True if the kill fits by time, cgroup and size. Used if the pid of the process is not the kernel's own.
bool fits(const Kill& kill, const Subject& subject) {
  if (subject.first_pids.value_or(false)) return false;
  return in_time(kill.when, subject, kStuck) && same_group(kill.group, subject.group) &&
         same_size(kill, subject);
}

double size_apart(const Kill& kill, const Subject& subject) {
  return std::abs(static_cast<double>(kill.anon) - static_cast<double>(subject.anon));
}

// Compares by value: each process has its own evidence, and the same kill may be in several.
struct Earlier {
  bool operator()(const Kill* a, const Kill* b) const { return *a < *b; }
};

// Returns the subject's kills that fit and are not `taken`, the closest in size first. At most kMost, because a
// log may have more than any process needs.
std::vector<const Kill*> fitting(const Subject& subject, const std::set<const Kill*, Earlier>& taken) {
  constexpr std::size_t kMost = 256;
  std::vector<const Kill*> out;
  for (const Kill& kill : subject.evidence->kills) {
    if (fits(kill, subject) && !taken.contains(&kill)) out.push_back(&kill);
  }
  std::stable_sort(out.begin(), out.end(), [&](const Kill* a, const Kill* b) {
    return size_apart(*a, subject) < size_apart(*b, subject);
  });
  if (out.size() > kMost) out.resize(kMost);
  return out;
}

// Returns for each subject the number of other subjects that share a fitting kill with it.
std::vector<std::size_t> rivals_by(const std::vector<std::vector<const Kill*>>& fit) {
  std::map<const Kill*, std::vector<std::size_t>, Earlier> subjects;
  for (std::size_t i = 0; i < fit.size(); ++i)
    for (const Kill* kill : fit[i]) subjects[kill].push_back(i);
  std::vector<std::size_t> out(fit.size()), seen_by(fit.size(), fit.size());
  for (std::size_t i = 0; i < fit.size(); ++i) {
    for (const Kill* kill : fit[i]) {
      for (const std::size_t other : subjects[kill]) {
        if (other == i || std::exchange(seen_by[other], i) == i) continue;
        ++out[i];
      }
    }
  }
  return out;
}

void kills(const std::vector<Subject>& subjects, std::vector<Witness>& witnesses) {
  std::set<const Kill*, Earlier> taken;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    for (const Kill& kill : subjects[i].evidence->kills) {
      if (!by_pid(kill, subjects[i])) continue;
      witnesses[i].kill = &kill;
      witnesses[i].certain = true;
      taken.insert(&kill);
    }
  }
  std::vector<std::vector<const Kill*>> fit(subjects.size());
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (witnesses[i].kill == nullptr) fit[i] = fitting(subjects[i], taken);
  }
  const std::vector<std::size_t> other_candidates = rivals_by(fit);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (fit[i].empty()) continue;
    if (other_candidates[i] >= fit[i].size()) {
      witnesses[i].other_candidates = other_candidates[i];
      continue;
    }
    witnesses[i].kill = fit[i].front();
    witnesses[i].certain = other_candidates[i] == 0 &&
                           (says_group(*fit[i].front(), subjects[i]) || fit[i].front()->pid == subjects[i].pid);
  }
}

// True if the log reaches back to before the end of the process, so it would contain a kill.
bool log_would_say(const Subject& subject) {
  const Evidence& evidence = *subject.evidence;
  return evidence.log.empty() && evidence.log_from && *evidence.log_from < subject.last;
}

// Returns how many kills the process's cgroup has counted since the last sample. A rise is evidence only if the
// cgroup was near its limit and the log, which is more precise, could not be read.
std::uint64_t counted(const Subject& subject, const CgroupState*& at) {
  if (!subject.near_limit || subject.kills_counted == kUnknown || log_would_say(subject)) return 0;
  for (const CgroupState& group : subject.evidence->groups) {
    if (group.path != subject.directory || group.oom_kills == kUnknown) continue;
    at = &group;
    return group.oom_kills > subject.kills_counted ? group.oom_kills - subject.kills_counted : 0;
  }
  return 0;
}

void counters(const std::vector<Subject>& subjects, std::vector<Witness>& witnesses) {
  constexpr double kClear = 1;                        // s: two samples are taken in that time
  std::map<std::string, std::vector<double>> last_in; // the last records of a cgroup's processes, ascending
  for (const Subject& subject : subjects) last_in[subject.directory].push_back(subject.last);
  for (auto& [directory, last] : last_in) std::sort(last.begin(), last.end());
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const CgroupState* group = nullptr;
    const std::uint64_t rise = counted(subjects[i], group);
    if (witnesses[i].kill != nullptr || rise == 0) continue;
    const std::vector<double>& last = last_in[subjects[i].directory];
    // Processes that lived on, or may have, are not candidates. One of the counted processes is this process.
    const auto others = std::lower_bound(last.begin(), last.end(), subjects[i].last + kClear);
    const auto other_candidates = static_cast<std::size_t>(others - last.begin()) - 1;
    if (other_candidates >= rise && !group->kills_all) {
      witnesses[i].other_candidates = other_candidates;
    } else {
      witnesses[i].counter = group;
    }
  }
}

// False if the statement names a pid only, and other hosts of the job may have a process of that pid.
bool names_one(const Statement& statement, const Subject& subject) {
  return statement.pid == 0 || subject.only_host || !statement.host.empty();
}

bool about(const Statement& statement, const Subject& subject) {
  if (statement.pid != 0 && statement.pid != subject.pid) return false;
  if (statement.pid != 0 && !statement.host.empty() && !same_host(statement.host, subject.host)) return false;
  if (statement.began.unix && statement.began.zoned && *statement.began.unix > subject.began_unix + 2)
    return false;
  return !statement.ended.unix || in_time(statement.ended, subject, kAtOnce);
}

void statements(const std::vector<Subject>& subjects, std::vector<Witness>& witnesses) {
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Statement* best = nullptr;
    const auto rank = [&](const Statement& statement) {
      return (statement.host == subjects[i].host ? 2 : 0) + (statement.out_of_memory ? 1 : 0) +
             // an exit status says less than a reason
             (statement.pid != 0 && !statement.out_of_memory ? -1 : 0);
    };
    for (const Statement& statement : subjects[i].evidence->statements) {
      if (!about(statement, subjects[i])) continue;
      if (best == nullptr || rank(statement) > rank(*best)) best = &statement;
    }
    witnesses[i].statement = best;
    // A statement that says only SIGKILL makes the kill of a counter no more certain.
    const bool decides = witnesses[i].counter == nullptr || (best != nullptr && best->out_of_memory);
    if (best != nullptr && decides && witnesses[i].kill == nullptr && (subjects.size() == 1 || best->pid != 0))
      witnesses[i].certain = best->ended.unix.has_value() && names_one(*best, subjects[i]);
  }
}

void faults(const std::vector<Subject>& subjects, std::vector<Witness>& witnesses) {
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    for (const ProgramFault& fault : subjects[i].evidence->faults) {
      const bool pids_tell = subjects[i].first_pids.value_or(true);
      if (pids_tell && fault.pid == subjects[i].pid && in_time(fault.when, subjects[i], kLate))
        witnesses[i].fault = &fault;
    }
  }
}

// Returns the seconds from the last record to the kill, or 0 if the clocks may differ by as much.
double unrecorded(const Subject& subject, const Kill& kill) {
  const std::optional<double> apart = after_end(kill.when, subject);
  return kill.when.boot && apart && *apart > drift(subject.last) ? *apart : 0;
}

} // namespace

std::vector<Witness> match(const std::vector<Subject>& subjects) {
  std::vector<Witness> witnesses(subjects.size());
  kills(subjects, witnesses);
  counters(subjects, witnesses);
  statements(subjects, witnesses);
  faults(subjects, witnesses);
  for (std::size_t i = 0; i < subjects.size(); ++i)
    if (witnesses[i].kill != nullptr) witnesses[i].unrecorded = unrecorded(subjects[i], *witnesses[i].kill);
  return witnesses;
}

} // namespace memtrace::evidence
