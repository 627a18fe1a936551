// Purpose: queries this machine for evidence about a trace, and collects the facts to compare the evidence
// with.
#include "analyzer/job/evidence_query.h"

#include <algorithm>

#include "analyzer/evidence/manager_matching.h"
#include "analyzer/evidence/sources/cgroup_counters.h"
#include "analyzer/evidence/sources/kernel_buffer.h"
#include "analyzer/evidence/sources/manager_log_files.h"
#include "analyzer/job/process_alive.h"

namespace memtrace::report {
namespace {

constexpr double kBefore = 5;   // s: evidence this much older than the trace is about another process
constexpr double kAfter = 3600; // s

double seconds(format::Stamp stamp) {
  return static_cast<double>(stamp) / 1e9;
}

template <class T>
void keep_near(std::vector<T>& list, const trace::Facts& facts) {
  const auto far = [&](const T& one) {
    const double at = one.when.boot.value_or(-1);
    return at < seconds(facts.start_stamp) - kBefore || at > seconds(facts.last_stamp) + kAfter;
  };
  list.erase(std::remove_if(list.begin(), list.end(), far), list.end());
}

// Keeps only the statements about this process: the log of a machine names the processes of others, too.
void keep_about(std::vector<evidence::ManagerKill>& kills, const evidence::Subject& subject) {
  const evidence::ManagerWitness witness = evidence::match_managers({subject}).front();
  kills = witness.kill == nullptr ? std::vector<evidence::ManagerKill>{}
                                  : std::vector{evidence::ManagerKill(*witness.kill)};
}

} // namespace

bool collect_evidence(const trace::Trace& trace, evidence::Evidence& into) {
  const trace::Facts& facts = trace.facts();
  into.asked = same_kernel(facts);
  if (!into.asked) {
    into.log = "this is another machine than it ran on, or was booted since";
    return false;
  }
  into.read_unix = evidence::unix_now();
  evidence::Evidence here;
  into.log = evidence::read_kernel(here);
  into.log_from = here.log_from;
  keep_near(here.kills, facts);
  keep_near(here.faults, facts);
  for (const trace::SampledCgroup& group : trace.samples().groups()) {
    if (!group.left) here.groups.push_back(evidence::read_group(trace.definitions().text(group.path)));
  }
  evidence::Subject subject = subject_of(trace);
  evidence::read_manager_logs(here, subject.last_unix);
  subject.evidence = &here;
  keep_about(here.manager_kills, subject);
  for (evidence::ManagerKill& kill : here.manager_kills) kill.host = facts.host;
  evidence::add(into, here);
  return true;
}

std::string own_group(const trace::Trace& trace) {
  for (const trace::SampledCgroup& group : trace.samples().groups())
    if (!group.left && group.last && group.level == 0) return trace.definitions().text(group.path);
  return "";
}

evidence::Subject subject_of(const trace::Trace& trace) {
  const trace::Samples& samples = trace.samples();
  const trace::Facts& facts = trace.facts();
  evidence::Subject subject;
  subject.pid = facts.pid;
  if (const auto pids = facts.note("pids")) subject.first_pids = *pids == kFirstPids;
  subject.began = seconds(facts.start_stamp);
  subject.last = seconds(facts.last_stamp);
  subject.began_unix = static_cast<double>(facts.start_unix_ns) / 1e9;
  subject.last_unix = subject.began_unix + subject.last - subject.began;
  subject.host = facts.host;
  if (samples.process()) subject.anon = samples.process()->anon;
  for (const trace::SampledCgroup& group : samples.groups()) {
    if (group.left || !group.last || group.level != 0) continue;
    subject.directory = trace.definitions().text(group.path);
    subject.group = kernels_path(subject.directory);
    subject.kills_counted = group.last->oom_kills;
  }
  if (const trace::SampledCgroup* const group = binding(samples)) {
    const auto charge = static_cast<double>(group->last->charge),
               limit = static_cast<double>(group->last->limit);
    subject.near_limit = charge >= 0.9 * limit;
  }
  return subject;
}

const trace::SampledCgroup* binding(const trace::Samples& samples) {
  const trace::SampledCgroup* found = nullptr;
  const auto room = [](const trace::SampledCgroup& group) {
    return group.last->limit > group.last->charge ? group.last->limit - group.last->charge : 0;
  };
  for (const trace::SampledCgroup& group : samples.groups()) {
    if (group.left || !group.last || group.last->limit == trace::kNotSaid) continue;
    if (found == nullptr || room(group) < room(*found)) found = &group;
  }
  return found;
}

std::string kernels_path(const std::string& directory) {
  for (const char* root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
    if (!directory.starts_with(root)) continue;
    const std::string path = directory.substr(std::string_view(root).size());
    return path.empty() ? "/" : path;
  }
  return directory;
}

} // namespace memtrace::report
