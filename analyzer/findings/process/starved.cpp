// Purpose: finds training that is slow because the kernel drops pages and reads them again.
#include "analyzer/findings/process/starved.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/job/evidence_query.h"
#include "analyzer/passes/memory_waits.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

constexpr std::uint64_t kLeastAgain = 64 << 20; // bytes that were read again
constexpr double kLeastAgainRate = 4 << 20;     // bytes per second
constexpr double kLeastStalled = 0.05;          // of the time
constexpr double kLeastFaults = 500;            // major faults per second; each waits 0.1 ms or more
constexpr std::uint64_t kOwnPart = 8;           // one of so many major faults of the cgroup is of the process
constexpr double kNearLimit = 0.9;              // of the limit

double stalled_seconds(const replay::MemoryWaits& waits) {
  return static_cast<double>(waits.stalled.value_or(0)) / 1e9;
}

// A cgroup has other programs, too: a compiler beside a training must not be a finding of the training.
bool is_own(const replay::MemoryWaits& waits) {
  return waits.major_faults >= waits.all_faults / kOwnPart;
}

bool is_starved(const replay::MemoryWaits& waits) {
  const double seconds = waits.seconds(), again = static_cast<double>(waits.read_again());
  if (seconds <= 0 || waits.read_again() < kLeastAgain || again < kLeastAgainRate * seconds) return false;
  if (!is_own(waits)) return false;
  return stalled_seconds(waits) >= kLeastStalled * seconds ||
         static_cast<double>(waits.major_faults) >= kLeastFaults * seconds;
}

// Returns the cgroup at whose limit the kernel dropped pages, or null if none was near its limit.
const trace::SampledCgroup* limiting_group(const trace::Samples& samples) {
  const trace::SampledCgroup* found = nullptr;
  const auto limit = [](const trace::SampledCgroup& group) {
    return std::min(group.highest->limit, group.limits ? group.limits->high : trace::kNotSaid);
  };
  for (const trace::SampledCgroup& group : samples.groups()) {
    if (group.left || !group.highest || limit(group) == trace::kNotSaid) continue;
    if (static_cast<double>(group.highest->charge) < kNearLimit * static_cast<double>(limit(group))) continue;
    if (found == nullptr || limit(group) < limit(*found)) found = &group;
  }
  return found;
}

std::string per(const replay::MemoryWaits& waits) {
  return waits.steps() == 0 ? "" : " per step";
}

// Returns the part of a step, or of the run if it has no steps.
template <class Number>
double each(const replay::MemoryWaits& waits, Number all) {
  return static_cast<double>(all) / static_cast<double>(std::max<std::uint64_t>(waits.steps(), 1));
}

std::string waited(const replay::MemoryWaits& waits) {
  std::string faults =
      fmt::format("{:.0f} page faults{} wait for storage", each(waits, waits.major_faults), per(waits));
  if (stalled_seconds(waits) < kLeastStalled * waits.seconds()) return faults;
  return fmt::format("tasks wait for memory {} of {}{}", duration(each(waits, stalled_seconds(waits))),
                     duration(each(waits, waits.seconds())), per(waits));
}

void add_evidence(const ProcessAnalysis& analysis, const replay::MemoryWaits& waits, Finding& finding) {
  const std::string where = waits.steps() == 0 ? "the run" : step_range(waits.first, waits.last);
  finding.evidence.push_back(fmt::format(
      "{}, {:.1f} to {:.1f} s: {} bytes of files and {} bytes of anonymous memory were evicted and read again "
      "(workingset_refault of cgroup {})",
      where, analysis.seconds(waits.from), analysis.seconds(waits.until), waits.refaulted, waits.swapped_in,
      kernels_path(own_group(*analysis.trace))));
  finding.evidence.push_back(
      fmt::format("{} of {} major faults of that cgroup are of the process; memory.high "
                  "delayed tasks {} times",
                  waits.major_faults, waits.all_faults, waits.throttled));
  if (waits.stalled)
    finding.evidence.push_back(fmt::format("{:.2f} of {:.2f} s: a task {} waited for memory (PSI)",
                                           stalled_seconds(waits), waits.seconds(),
                                           waits.stalled_in_group ? "of that cgroup" : "of the machine"));
}

// Says which limit is too low, and how many bytes it leaves for pages that the kernel can drop.
void add_limit(const ProcessAnalysis& analysis, const replay::MemoryWaits& waits, Finding& finding) {
  const trace::SampledCgroup* const group = limiting_group(analysis.trace->samples());
  if (group == nullptr) {
    finding.sentences.push_back("No cgroup was near its limit: the machine's memory was short.");
    finding.remedy = "a machine with more memory, or fewer programs on it";
    return;
  }
  const bool high = group->limits && group->limits->high < group->highest->limit;
  const std::uint64_t limit = high ? group->limits->high : group->highest->limit;
  const auto most = waits.held.find(group->path);
  const std::uint64_t held = most == waits.held.end() ? 0 : most->second;
  const std::string name = kernels_path(analysis.trace->definitions().text(group->path));
  finding.evidence.push_back(
      fmt::format("cgroup {}: {} {} bytes, at most {} charged; in these {:.1f} s, at most {} cannot be dropped",
                  name, high ? "memory.high" : "limit", limit, group->highest->charge, waits.seconds(), held));
  finding.sentences.push_back(fmt::format("The limit of the cgroup, {}, leaves {} for pages of files.",
                                          sized(limit), sized(limit - std::min(limit, held))));
  finding.remedy = fmt::format(
      "raise the limit of cgroup {1} above {0}, or allocate less: the first lines name the lines that hold "
      "most",
      sized(limit), name);
}

Finding finding_of(const ProcessAnalysis& analysis, const replay::MemoryWaits& waits) {
  Finding finding;
  finding.id = "starved-for-memory";
  finding.bytes = static_cast<std::int64_t>(each(waits, waits.read_again()));
  finding.certain = waits.stalled_in_group;
  finding.site = waits.mapped_by;
  const std::string line =
      finding.site == format::StackId{} ? "" : analysis.symbolizer->site(finding.site).line();
  finding.title = fmt::format("Short of memory: {}{} were dropped and read again; {}",
                              sized(static_cast<std::uint64_t>(finding.bytes)), per(waits), waited(waits));
  add_evidence(analysis, waits, finding);
  add_limit(analysis, waits, finding);
  if (!line.empty() && waits.refaulted >= waits.swapped_in)
    finding.sentences.push_back(
        fmt::format("The largest file mapping, {}, was made at {}.", sized(waits.mapped), line));
  finding.remedy += "; or read each part of a file once, in its order, and use it before the next";
  return finding;
}

} // namespace

// A process that dies for memory drops pages before it dies: the death is the cause then.
Findings find_starved(const ProcessAnalysis& analysis) {
  const trace::Samples& samples = analysis.trace->samples();
  const bool any = std::any_of(samples.groups().begin(), samples.groups().end(), [](const auto& group) {
    return group.first_waits && group.waits->refaulted - group.first_waits->refaulted +
                                        group.waits->swapped_in - group.first_waits->swapped_in >=
                                    kLeastAgain;
  });
  if (analysis.death || !any) return {};
  const std::optional<replay::MemoryWaits> waits = replay::memory_waits(*analysis.trace);
  return waits && is_starved(*waits) ? Findings{finding_of(analysis, *waits)} : Findings{};
}

} // namespace memtrace::report
