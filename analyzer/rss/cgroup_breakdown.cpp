// Purpose: compares the memory of all processes of a job at a death with the charge of their cgroup.
#include "analyzer/rss/cgroup_breakdown.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "analyzer/job/evidence_query.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using NamedBytes = JobLedger::NamedBytes;

std::string note_of(const JobPeer& other) {
  std::string note = ended(other.end);
  if (other.end.how == "running") return note;
  note += fmt::format(", {} {}", duration(std::abs(other.later)), other.later < 0 ? "earlier" : "later");
  // If the kernel killed that process too, it is not known whether it only followed.
  const bool gave_up = other.end.how == "exit" && other.end.code != 0;
  if (other.later >= 0 && (gave_up || other.end.how == "killed_by_manager" || other.end.how == "signal" ||
                           other.end.how == "unknown"))
    note += ": a consequence";
  return note;
}

// True if `directory` is `group` or below it.
bool is_below(const std::string& directory, const std::string& group) {
  return !directory.empty() && directory.starts_with(group) &&
         (directory.size() == group.size() || directory[group.size()] == '/');
}

// Returns the kernel's figure at the kill if there is one: it has the same time as its figure of the killed
// process. A sample may be half a second older; one job used a sixth of that sum by then.
std::uint64_t charge_of(const ProcessAnalysis& analysis, const trace::GroupSample& last) {
  const evidence::Kill* const kill = analysis.end.witness.kill;
  const bool said =
      kill != nullptr && kill->usage != evidence::kUnknown &&
      kill->limited == kernels_path(analysis.trace->definitions().text(analysis.death->group->path));
  return said ? kill->usage : last.charge;
}

// Adds the memory that is charged to a cgroup but belongs to no single process.
void add_shared(const trace::GroupSample& sample, std::vector<NamedBytes>& lines) {
  const std::uint64_t shmem = sample.shmem == trace::kNotSaid ? 0 : std::min(sample.shmem, sample.file);
  if (shmem != 0) lines.push_back({"shared memory, /dev/shm", shmem, ""});
  lines.push_back({"page cache", sample.file - shmem, ""});
  if (sample.kernel != trace::kNotSaid) lines.push_back({"kernel", sample.kernel, ""});
}

} // namespace

std::string name_of(const std::string& kind, std::uint32_t rank, std::uint32_t pid) {
  return rank == trace::kNoRank ? fmt::format("{} pid {}", kind, pid)
         : kind == "rank"       ? fmt::format("rank {} pid {}", rank, pid)
                                : fmt::format("{} of rank {} pid {}", kind, rank, pid);
}

JobLedger job_ledger(const ProcessAnalysis& analysis, const std::vector<JobPeer>& others) {
  const Death& death = *analysis.death;
  JobLedger out;
  std::string directory;
  if (death.group != nullptr) {
    directory = analysis.trace->definitions().text(death.group->path);
    out.of = kernels_path(directory);
    out.total = charge_of(analysis, *death.group->last);
  }
  const auto& facts = analysis.facts();
  out.lines.push_back(
      {name_of(analysis.kind, facts.rank, facts.pid), death.resident.anon, ended(analysis.end)});
  for (const JobPeer& other : others) {
    const bool counted = out.of.empty() || is_below(other.directory, directory);
    std::string note = note_of(other);
    if (!counted) note += other.directory.empty() ? "; its cgroup is not known" : "; in another cgroup";
    out.lines.push_back({name_of(other.kind, other.rank, other.pid), other.then ? other.then->anon : 0,
                         std::move(note), counted});
  }
  std::stable_sort(out.lines.begin() + 1, out.lines.end(),
                   [](const NamedBytes& a, const NamedBytes& b) { return a.bytes > b.bytes; });
  if (out.total) add_shared(*death.group->last, out.lines);
  out.residual = static_cast<std::int64_t>(out.total.value_or(0));
  for (const NamedBytes& line : out.lines)
    if (line.counted) out.residual = replay::wrapping_sub(out.residual, line.bytes);
  return out;
}

} // namespace memtrace::report
