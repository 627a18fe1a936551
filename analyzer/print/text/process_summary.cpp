// Purpose: what the report of a job says about one process.
#include "analyzer/print/text/process_summary.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/rss/rss_ledger.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

// Sets the highest level in each phase: of tensors of the GPU with the most, else of what the host allocated.
void set_phases(const ProcessAnalysis& analysis, ProcessSummary& out) {
  replay::MemoryId memory = 0;
  for (const auto& [id, peaks] : analysis.account.peaks)
    if (id != 0 && peaks.tensor.bytes > (memory == 0 ? 0 : analysis.account.peaks.at(memory).tensor.bytes))
      memory = id;
  out.phases_on_gpu = memory != 0;
  const std::int64_t reserved = memory == 0 ? leading_peak(analysis, 0).reserved : 0;
  const replay::Paths& paths = analysis.account.paths;
  std::map<replay::PathId, std::int64_t> highest;
  for (const replay::Row& row : analysis.account.rows) {
    if (row.count == 0) continue; // `other` has no levels
    const replay::MemoryRow& levels = row.of(memory);
    std::int64_t& level = highest[row.path];
    level = std::max(level, memory == 0 ? levels.live.peak : levels.tensor.peak);
  }
  for (const auto& [path, level] : highest) {
    std::int64_t& of_phase = out.phases[paths.text(paths.last(path))];
    of_phase = std::max(of_phase, level >= reserved ? level - reserved : level);
  }
}

} // namespace

ProcessSummary summary_of(const ProcessAnalysis& analysis, const Findings& findings, bool died_for_memory) {
  const trace::Facts& facts = analysis.facts();
  const replay::MemoryPeaks& host = analysis.account.peaks.at(0);
  ProcessSummary out;
  out.pid = facts.pid;
  out.rank = facts.rank;
  out.world_size = facts.world_size;
  out.kind = analysis.kind;
  out.script = script(facts);
  out.ended = fmt::format("{} after {}", ended(analysis.end), duration(analysis.seconds(facts.last_stamp)));
  out.how = ended_briefly(analysis.end);
  out.seconds = analysis.seconds(facts.last_stamp);
  out.coordinates = trace::coordinates_of(facts);
  if (facts.rank != trace::kNoRank) set_phases(analysis, out);
  out.died_for_memory = died_for_memory;
  out.modelled = facts.parameters.has_value();
  out.allocated = replay::wrapping_sub(host.live.bytes, leading_peak(analysis, 0).reserved);
  for (const auto& [memory, peaks] : analysis.account.peaks)
    out.tensors = std::max(out.tensors, peaks.tensor.bytes);
  out.resident = static_cast<std::int64_t>(highest_resident(analysis));
  out.lost = analysis.losses.total();
  if (const auto bound = facts.note("bound"))
    out.limited =
        bound->starts_with("counts") ? ", counted only (MEMTRACE_MAX_NODE)" : ", less room (MEMTRACE_MAX_NODE)";
  if (facts.note("malloc")) out.limited += ", blocks of malloc not recorded";
  for (const Finding& finding : findings) out.findings.push_back(finding.title);
  return out;
}

} // namespace memtrace::report
