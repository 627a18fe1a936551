// Purpose: writes the limits at a death, the memory pressure, and the process of the job that held most.
#include "analyzer/print/text/death_limits.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/job/evidence_query.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

// Returns the parts of a cgroup's charge.
std::string charged(const trace::SampledCgroup& group) {
  const trace::GroupSample& last = *group.last;
  std::string text = fmt::format(": anon {}, file {}", sized(last.anon), sized(last.file));
  if (last.shmem != trace::kNotSaid) text += fmt::format(", shmem {}", sized(last.shmem));
  if (last.kernel != trace::kNotSaid) text += fmt::format(", kernel {}", sized(last.kernel));
  if (group.limits && group.limits->met != trace::kNotSaid && group.limits->met != 0)
    text += fmt::format("; it had met its limit {} times", count(group.limits->met));
  return text;
}

// Writes the other limits of the process's cgroup and of the cgroups above it.
void write_other_limits(const ProcessAnalysis& analysis, Lines& lines) {
  for (const trace::SampledCgroup& group : analysis.death->last.samples.groups()) {
    if (&group == analysis.death->group || group.left || !group.last || group.last->limit == trace::kNotSaid)
      continue;
    lines.paragraph(
        "  ", fmt::format("not met: {} of {} of cgroup {}", sized(group.last->charge), sized(group.last->limit),
                          printable(kernels_path(analysis.trace->definitions().text(group.path)))));
  }
}

// Writes the memory pressure of the cgroup if the kernel reports it, else of the machine.
void write_pressure(const Death& death, Lines& lines) {
  const bool of_group = death.group != nullptr && death.group->pressure;
  const std::optional<trace::Pressure>& said = of_group ? death.group->pressure : death.last.samples.pressure();
  constexpr double kWorthTelling = 1; // percent
  if (!said || said->some_avg10 < kWorthTelling) return;
  lines.paragraph("  ", fmt::format("pressure of memory {} in 10 s, {}: some {:.0f} %, full {:.0f} %",
                                    of_group ? "in it" : "on the machine", when_sampled(death, said->stamp),
                                    said->some_avg10, said->full_avg10));
}

} // namespace

std::string when_sampled(const Death& death, format::Stamp stamp) {
  const format::Stamp then = death.then.stamp;
  const auto ns = static_cast<double>(std::max(stamp, then) - std::min(stamp, then));
  return fmt::format("{} {} {}", duration(ns / 1e9), stamp <= then ? "before" : "after",
                     death.failure != nullptr ? "the failure" : "the last record");
}

void write_death_limits(const ProcessAnalysis& analysis, Lines& lines) {
  const Death& death = *analysis.death;
  if (!death.limit) return;
  std::string text = fmt::format("limit: {} of {}", sized(*death.limit), printable(death.limit_of));
  if (death.charge)
    text += fmt::format("; {} of it used {}", sized(*death.charge), when_sampled(death, death.charge_at));
  if (death.group != nullptr) text += charged(*death.group);
  lines.paragraph("  ", text);
  write_other_limits(analysis, lines);
  write_pressure(death, lines);
}

void write_largest_of_job(const ProcessAnalysis& analysis, const std::vector<JobPeer>& others, Lines& lines) {
  if (!killed_for_memory(analysis.end)) return;
  const std::uint64_t own = analysis.death->resident.anon;
  const JobPeer* largest = nullptr;
  bool other_hosts = false;
  for (const JobPeer& other : others) {
    other_hosts = other_hosts || !other.same_host;
    if (!other.same_host || !other.then || other.then->anon <= own) continue;
    if (largest == nullptr || other.then->anon > largest->then->anon) largest = &other;
  }
  if (largest == nullptr) return;
  lines.paragraph(
      "  ", fmt::format("the largest process of the job{} then: {}, {} anonymous; this one had {}",
                        other_hosts ? " on this host" : "", name_of(largest->kind, largest->rank, largest->pid),
                        sized(largest->then->anon), sized(own)));
}

} // namespace memtrace::report
