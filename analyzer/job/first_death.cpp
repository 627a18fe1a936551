// Purpose: finds the rank of a job that failed first, and the ranks that only followed it.
#include "analyzer/job/first_death.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analyzer/job/process_order.h"
#include "analyzer/trace/coordinates.h"

namespace memtrace::report {
namespace {

bool is_rank(const Process& process) {
  return process.facts.rank != trace::kNoRank && process.kind != "worker" && process.kind != "child";
}

DeadRank dead_rank(const Process& process) {
  const trace::Facts& facts = process.facts;
  const double began = static_cast<double>(facts.start_unix_ns) / 1e9;
  return {facts.rank, facts.host, trace::text_of(trace::coordinates_of(facts)), ended_briefly(process.end),
          last_unix(process) - began};
}

// Orders ends by the clocks of their hosts.
class Ends {
 public:
  explicit Ends(const HostClocks& clocks) : clocks_(clocks) {}

  // Returns the seconds from the end of `b` to that of `a`.
  double after(const Process& a, const Process& b) const {
    return ended_after(a, b) - clocks_.between(a.facts.host, b.facts.host).ahead;
  }
  // True if the records show no order of the two ends.
  bool is_tied(const Process& a, const Process& b) const {
    return a.facts.host != b.facts.host && std::abs(after(a, b)) < error(a, b);
  }
  double error(const Process& a, const Process& b) const {
    return clocks_.between(a.facts.host, b.facts.host).error;
  }

 private:
  const HostClocks& clocks_;
};

// Returns the rank that ended first. A manager ends a rank because another one failed, so that one is first. If
// the clocks show no order, a rank that was killed precedes one that gave up: ranks give up when one of them is
// gone.
const Process& first_of(const std::vector<const Process*>& failed, const Ends& ends) {
  const auto follows = [](const Process& process) { return gravity(process) == Gravity::followed; };
  const Process* const earliest =
      *std::min_element(failed.begin(), failed.end(), [&](const Process* a, const Process* b) {
        return follows(*a) != follows(*b) ? follows(*b) : ends.after(*a, *b) < 0;
      });
  const Process* out = earliest;
  for (const Process* process : failed)
    if (ends.is_tied(*process, *earliest) && gravity(*process) < gravity(*out)) out = process;
  return *out;
}

} // namespace

std::optional<FirstDeath> first_death(const std::vector<Process>& processes, const HostClocks& clocks) {
  const Ends ends(clocks);
  FirstDeath out;
  std::vector<const Process*> failed;
  std::set<std::string> hosts;
  for (const Process& process : processes) {
    if (!is_rank(process)) continue;
    hosts.insert(process.facts.host);
    if (gravity(process) == Gravity::other) {
      ++out.others;
    } else {
      failed.push_back(&process);
    }
  }
  if (failed.empty() || failed.size() + out.others < 2) return std::nullopt;
  out.hosts = hosts.size();
  std::sort(failed.begin(), failed.end(),
            [](const Process* a, const Process* b) { return a->facts.rank < b->facts.rank; });
  const Process& first = first_of(failed, ends);
  out.clocks_compared = out.hosts > 1;
  for (const Process* process : failed) {
    const double error = ends.error(*process, first);
    out.clock_error = std::max(out.clock_error, error);
    const auto clock = clocks.all().find(process->facts.host);
    out.clocks_compared = out.clocks_compared && clock != clocks.all().end() && clock->second.measured;
    const bool tied =
        process == &first || (ends.is_tied(*process, first) && gravity(*process) == gravity(first));
    (tied ? out.first : out.followed).push_back(dead_rank(*process));
    if (tied) continue;
    const double later = std::max(0.0, ends.after(*process, first));
    out.least_later = out.followed.size() == 1 ? later : std::min(out.least_later, later);
    out.most_later = std::max(out.most_later, later);
  }
  return out;
}

} // namespace memtrace::report
