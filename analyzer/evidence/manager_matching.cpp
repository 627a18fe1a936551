// Purpose: matches the statements of managers that they ended a process with the processes of a job.
#include "analyzer/evidence/manager_matching.h"

#include "analyzer/evidence/event_time.h"

namespace memtrace::evidence {
namespace {

constexpr double kSilent = 60; // s: an idle or stuck process has no later record
// s: after SIGTERM, torchrun and the kubelet wait for 30 s by default, earlyoom for 10 s, until they send
// SIGKILL
constexpr double kGrace = 40;

// The daemons of a machine use the first pid namespace. Ray and torchrun run beside their processes.
bool pids_agree(const ManagerKill& kill, const Subject& subject) {
  return kill.manager != "earlyoom" || subject.first_pids.value_or(false);
}

// Several hosts may each have a process of this pid. Then a statement without a host is likely only.
int fit_of_pid(const ManagerKill& kill, const Subject& subject, bool timed) {
  if (kill.pid != subject.pid || !pids_agree(kill, subject)) return 0;
  if (!kill.host.empty() && !same_host(kill.host, subject.host)) return 0;
  return timed && (subject.only_host || !kill.host.empty()) ? 2 : 1;
}

bool is_below_group(const std::string& own, const std::string& group) {
  return own.size() > 1 && (own == group || own.starts_with(group + "/"));
}

// Returns 0 if the statement is not about the process, 1 if it may be, 2 if it is.
int fit_of(const ManagerKill& kill, const Subject& subject) {
  const bool timed = kill.when.boot || kill.when.unix;
  if (timed && !in_time(kill.when, subject, kSilent, kGrace)) return 0;
  if (kill.pid != 0) return fit_of_pid(kill, subject, timed);
  if (!timed) return 0;
  // A local time fits an event of any hour, so the cgroup and the time together prove nothing.
  if (!kill.group.empty()) return !is_below_group(subject.group, kill.group) ? 0 : kill.when.zoned ? 2 : 1;
  return !kill.host.empty() && kill.host == subject.host ? 2 : 0;
}

} // namespace

std::vector<ManagerWitness> match_managers(const std::vector<Subject>& subjects) {
  std::vector<ManagerWitness> out(subjects.size());
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    int best = 0;
    for (const ManagerKill& kill : subjects[i].evidence->manager_kills) {
      const int fit = fit_of(kill, subjects[i]);
      // Of equal statements the last: a SIGKILL that follows a SIGTERM. A lack of memory says more than that
      // another process failed.
      const bool better =
          fit > best ||
          (fit == best && fit != 0 && kill.for_memory >= (out[i].kill != nullptr && out[i].kill->for_memory));
      if (!better) continue;
      best = fit;
      out[i] = {&kill, fit == 2};
    }
  }
  return out;
}

} // namespace memtrace::evidence
