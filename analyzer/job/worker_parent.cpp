// Purpose: recognises workers of loaders and of Ray, and the process that started them.
#include "analyzer/job/worker_parent.h"

#include "analyzer/job/trace_name.h"

namespace memtrace::report {

bool is_worker(const trace::Facts& facts) {
  if (const auto noted = facts.note("kind")) return *noted == "worker";
  const bool rank = facts.rank != trace::kNoRank && facts.world_size > 1;
  if (rank) return false;
  return (facts.fork && facts.data_phases) || (is_of_ray(facts) && !facts.parameters);
}

std::uint32_t worker_parent(const trace::Facts& facts) {
  std::uint32_t pid = 0;
  if (const auto noted = facts.note("worker-of"); noted && number(*noted, pid, 10) && pid != 0) return pid;
  const bool by_server = (facts.fork && is_of_forkserver(facts)) || is_of_ray(facts);
  if (!by_server) return facts.ppid;
  const std::string ancestors = facts.note("ancestors").value_or(""); // the first is the parent of the server
  return number(ancestors.substr(0, ancestors.find(' ')), pid, 10) && pid != 0 ? pid : facts.ppid;
}

bool is_of_forkserver(const trace::Facts& facts) {
  return facts.argv.find("from multiprocessing.forkserver import main") != std::string::npos;
}

bool is_of_ray(const trace::Facts& facts) {
  const std::size_t script = facts.argv.find('\0') + 1; // raylet has the same path in a later argument
  const std::string second = facts.argv.substr(script, facts.argv.find('\0', script) - script);
  return second.ends_with("/ray/_private/workers/default_worker.py");
}

bool is_spawned(const trace::Facts& facts) {
  return facts.argv.find("from multiprocessing.spawn import spawn_main") != std::string::npos;
}

bool is_fork_of_parent(const trace::Facts& facts) {
  return facts.fork && facts.fork->parent_pid == worker_parent(facts);
}

} // namespace memtrace::report
