// Purpose: describes a process that may have left files in /dev/shm.
#include "analyzer/job/shm_creator.h"

#include "analyzer/passes/shm_flows.h"

namespace memtrace::report {

double unix_of(const trace::Facts& facts, format::Stamp stamp) {
  const auto apart = static_cast<double>(stamp) - static_cast<double>(facts.start_stamp);
  return static_cast<double>(facts.start_unix_ns) / 1e9 + apart / 1e9;
}

evidence::ShmCreator lifetime_of(const trace::Facts& facts) {
  evidence::ShmCreator out;
  out.pid = facts.pid;
  out.began = unix_of(facts, facts.start_stamp);
  out.last = unix_of(facts, facts.last_stamp);
  return out;
}

evidence::ShmCreator creator_of(const trace::Trace& trace) {
  const trace::Facts& facts = trace.facts();
  evidence::ShmCreator out = lifetime_of(facts);
  for (const replay::SharedFlow& flow : replay::shared_flows(trace).births)
    out.mapped.push_back({unix_of(facts, flow.stamp), flow.bytes});
  return out;
}

} // namespace memtrace::report
