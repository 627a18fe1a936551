// Purpose: orders the processes of a job: which of them a report leads with, and which ended first.
#include "analyzer/job/process_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace memtrace::report {
namespace {

// True if the memory that only its owners can free came within a tenth of the limit of a cgroup.
bool came_near(const trace::SampledCgroup& group) {
  if (group.left || !group.highest || group.highest->limit == trace::kNotSaid) return false;
  const trace::GroupSample& sample = *group.highest;
  const std::uint64_t shmem = sample.shmem == trace::kNotSaid ? 0 : std::min(sample.shmem, sample.file);
  const std::uint64_t cache = std::min(sample.charge, sample.file - shmem);
  return sample.charge - cache >= sample.limit - sample.limit / 10;
}

bool came_near(const Process& process) {
  const auto& groups = process.samples.groups();
  return std::any_of(groups.begin(), groups.end(),
                     [](const trace::SampledCgroup& one) { return came_near(one); });
}

std::uint64_t peak_of(const Process& process) {
  if (process.peak) return *process.peak;
  return process.samples.process() ? process.samples.process()->high_water : 0;
}

// Of the order, the part that precedes the peaks.
auto first_of_order(const Process& process) {
  const bool died = gravity(process) == Gravity::died_for_memory;
  const bool modelled = process.facts.parameters.has_value();
  return std::tuple(!died, process.kind == "worker", !came_near(process), !modelled,
                    modelled ? process.facts.rank : 0);
}

auto order_of(const Process& process) {
  return std::tuple(first_of_order(process), ~peak_of(process), process.facts.start_unix_ns, process.facts.pid,
                    process.path);
}

// As ended_after(), without what a manager states.
double seconds_apart(const Process& a, const Process& b) {
  const auto killed = [](const Process& process) {
    const evidence::Kill* const kill = process.end.witness.kill;
    return kill != nullptr ? kill->when.boot : std::nullopt;
  };
  const auto one = killed(a), other = killed(b);
  if (a.facts.host == b.facts.host && one && other) return *one - *other;
  if (a.facts.host == b.facts.host && a.watched && b.watched) return a.watched->unix - b.watched->unix;
  return last_unix(a) - last_unix(b);
}

// True if a manager killed `a` because `b` had died.
bool followed(const Process& a, const Process& b) {
  return a.end.how == "killed_by_manager" && a.end.after == short_name(b) && a.facts.host == b.facts.host;
}

} // namespace

Gravity gravity(const Process& process) {
  const std::string& how = process.end.how;
  if (killed_for_memory(process.end) || process.failed) return Gravity::died_for_memory;
  if (how == "killed_by_manager") return Gravity::followed;
  if (how == "unknown" || how == "signal") return Gravity::signal_or_unknown;
  return how == "exit" && process.end.code != 0 ? Gravity::failing_exit : Gravity::other;
}

double last_unix(const Process& process) {
  const trace::Facts& facts = process.facts;
  const auto ns = static_cast<double>(facts.last_stamp) - static_cast<double>(facts.start_stamp);
  return static_cast<double>(facts.start_unix_ns) / 1e9 + ns / 1e9;
}

std::string short_name(const Process& process) {
  return process.kind == "rank" ? fmt::format("rank {}", process.facts.rank)
                                : fmt::format("pid {}", process.facts.pid);
}

double ended_after(const Process& a, const Process& b) {
  const double apart = seconds_apart(a, b);
  if (followed(a, b)) return std::max(apart, 0.0);
  return followed(b, a) ? std::min(apart, 0.0) : apart;
}

std::vector<Process*> tied_for_lead(std::vector<Process>& processes) {
  if (processes.empty()) return {};
  const auto least = first_of_order(*std::min_element(
      processes.begin(), processes.end(),
      [](const Process& a, const Process& b) { return first_of_order(a) < first_of_order(b); }));
  std::vector<Process*> out;
  for (Process& process : processes)
    if (first_of_order(process) == least) out.push_back(&process);
  // Of those that died, the first to die leads.
  const bool one_leads = out.size() < 2 || gravity(*out.front()) == Gravity::died_for_memory;
  return one_leads ? std::vector<Process*>{} : out;
}

void put_leading_first(std::vector<Process>& processes) {
  std::sort(processes.begin(), processes.end(),
            [](const Process& a, const Process& b) { return order_of(a) < order_of(b); });
  const auto alive = std::find_if(processes.begin(), processes.end(), [](const Process& process) {
    return gravity(process) != Gravity::died_for_memory;
  });
  const auto first = std::min_element(processes.begin(), alive,
                                      [](const Process& a, const Process& b) { return ended_after(a, b) < 0; });
  if (first != alive) std::rotate(processes.begin(), first, std::next(first));
}

} // namespace memtrace::report
