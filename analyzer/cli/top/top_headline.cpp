// Purpose: the first lines of `memtrace top`: whether a limit will be met, which, and when.
#include "analyzer/cli/top/top_headline.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/wording/units.h"

namespace memtrace::cli {
namespace {

using live::LimitNow;
using live::ProcessNow;

constexpr double kSoon = 3600;                // seconds: an alarm
constexpr double kNear = 0.9, kAlmost = 0.97; // of a limit

struct LimitChoice {
  const ProcessNow* process = nullptr;
  const LimitNow* limit = nullptr;
};

bool is_sooner(const LimitNow& a, const LimitNow* than) {
  return than == nullptr || a.full_in.value_or(1e300) < than->full_in.value_or(1e300);
}

std::string prefix(const std::vector<ProcessNow>& processes, const ProcessNow& process) {
  return processes.size() > 1 ? short_name(process) + ": " : "";
}

// Returns "cgroup /job has 4.90 GiB left of 32.00 GiB (85 % used)".
std::string distance(const LimitNow& limit) {
  return fmt::format("{} has {} left of {} ({:.0f} % used)", limit.name, report::sized(limit.left()),
                     report::sized(limit.limit), 100 * limit.share());
}

std::string growth_of(const ProcessNow& process, const LimitNow& limit) {
  for (const live::MemoryNow& memory : process.memories)
    if (memory.memory == limit.memory) return growth_words(memory);
  return "";
}

Span of_limits(const std::vector<ProcessNow>& processes) {
  LimitChoice first, nearest;
  for (const ProcessNow& process : processes) {
    if (!process.running) continue;
    for (const LimitNow& limit : process.limits) {
      if (limit.full_in && *limit.full_in < kFar && is_sooner(limit, first.limit)) first = {&process, &limit};
      if (nearest.limit == nullptr || limit.share() > nearest.limit->share()) nearest = {&process, &limit};
    }
  }
  if (nearest.limit == nullptr) return {"No limit is known yet: the trace has no sample of one.", Style::plain};
  if (first.limit == nullptr) {
    const double share = nearest.limit->share();
    const Style style = share >= kAlmost ? Style::alarm : share >= kNear ? Style::warning : Style::bold;
    return {
        prefix(processes, *nearest.process) + "No growth towards a limit. " + distance(*nearest.limit) + ".",
        style};
  }
  const LimitNow& limit = *first.limit;
  const std::string steps = steps_until(*first.process, *limit.full_in);
  const std::string growth = growth_of(*first.process, limit);
  const bool soon = *limit.full_in < kSoon || limit.share() >= kAlmost;
  return {fmt::format("{}{} in {}{}: {}{}.", prefix(processes, *first.process),
                      limit.soft ? "Delayed by memory.high" : "Full", report::duration(*limit.full_in),
                      steps.empty() ? "" : " (" + steps + ")", distance(limit),
                      growth.empty() ? "" : ", " + growth),
          soon ? Style::alarm : Style::warning};
}

} // namespace

std::string short_name(const ProcessNow& process) {
  return process.rank ? fmt::format("rank {}", *process.rank) : fmt::format("pid {}", process.pid);
}

std::string growth_words(const live::MemoryNow& memory) {
  if (memory.per_step > 0) return "+" + report::size(memory.per_step) + " a step";
  const auto per_minute = static_cast<std::int64_t>(60 * memory.per_second);
  return per_minute > 0 ? "+" + report::size(per_minute) + " a minute" : "";
}

std::string steps_until(const ProcessNow& process, double seconds) {
  if (process.step_seconds <= 0) return "";
  const double steps = seconds / process.step_seconds;
  return steps < 1e9 ? report::count(static_cast<std::uint64_t>(steps)) + " steps" : "";
}

Span headline(const std::vector<ProcessNow>& processes) {
  if (processes.empty()) return {"No process to show.", Style::bold};
  if (!processes.front().error.empty()) return {processes.front().error, Style::alarm};
  const bool any = std::any_of(processes.begin(), processes.end(), [](const auto& one) { return one.running; });
  const auto bad =
      std::find_if(processes.begin(), processes.end(), [](const auto& one) { return one.ended_badly; });
  if (bad != processes.end()) {
    const std::string more = any ? " Others run." : "";
    return {fmt::format("{} {}.{} `memtrace postmortem` says why.", short_name(*bad), bad->end, more),
            Style::alarm};
  }
  if (any) return of_limits(processes);
  const ProcessNow& one = processes.front();
  if (processes.size() == 1) return {fmt::format("{} {}.", short_name(one), one.end), Style::bold};
  return {fmt::format("All {} processes ended; {} {}.", processes.size(), short_name(one), one.end),
          Style::bold};
}

} // namespace memtrace::cli
