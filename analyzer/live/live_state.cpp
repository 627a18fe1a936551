// Purpose: what `memtrace top` knows about each process at one refresh: plain figures, for the screen.
#include "analyzer/live/live_state.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace memtrace::live {
namespace {

using Shared = std::pair<std::string, std::string>; // host and name

bool is_shared(const LimitNow& limit) {
  return limit.of == LimitNow::LiveLimitKind::cgroup || limit.of == LimitNow::LiveLimitKind::machine;
}

double growth_of(const ProcessNow& process, unsigned memory) {
  if (!process.running) return 0;
  for (const MemoryNow& one : process.memories)
    if (one.memory == memory) return one.per_second;
  return 0;
}

} // namespace

std::size_t leading_memory(const ProcessNow& process) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < process.memories.size(); ++i)
    if (process.memories[i].tensor > process.memories[best].tensor) best = i;
  return best;
}

void predict(std::vector<ProcessNow>& processes) {
  std::map<Shared, double> shared;
  for (const ProcessNow& process : processes)
    for (const LimitNow& limit : process.limits)
      if (is_shared(limit)) shared[{limit.host, limit.name}] += growth_of(process, limit.memory);
  for (ProcessNow& process : processes) {
    for (LimitNow& limit : process.limits) {
      limit.growth = is_shared(limit) ? shared[{limit.host, limit.name}] : growth_of(process, limit.memory);
      limit.full_in = std::nullopt;
      if (process.running && limit.growth > 0) limit.full_in = static_cast<double>(limit.left()) / limit.growth;
    }
    const auto when = [](const LimitNow& limit) {
      return limit.full_in.value_or(std::numeric_limits<double>::infinity());
    };
    std::stable_sort(process.limits.begin(), process.limits.end(), [&](const LimitNow& a, const LimitNow& b) {
      if (when(a) != when(b)) return when(a) < when(b);
      return a.share() > b.share();
    });
  }
}

} // namespace memtrace::live
