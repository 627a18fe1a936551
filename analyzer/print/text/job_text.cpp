// Purpose: writes the report of a job: what differs among its ranks, then its processes.
#include "analyzer/print/text/job_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/print/text/outlier_text.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/rss/cgroup_breakdown.h"
#include "analyzer/rss/rss_ledger.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_lines.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

bool is_rank(const ProcessSummary& process) {
  return process.rank != trace::kNoRank && process.kind != "worker" && process.kind != "child";
}

std::vector<const ProcessSummary*> ranks_of(const std::vector<ProcessSummary>& processes) {
  std::vector<const ProcessSummary*> out;
  for (const ProcessSummary& process : processes)
    if (is_rank(process)) out.push_back(&process);
  std::stable_sort(out.begin(), out.end(),
                   [](const ProcessSummary* a, const ProcessSummary* b) { return a->rank < b->rank; });
  return out;
}

// Returns the name of a process; "launcher" for one that only starts the ranks, such as torchrun.
std::string shown_name(const ProcessSummary& process, bool ranks) {
  if (ranks && process.kind == "main" && process.rank == trace::kNoRank && !process.modelled)
    return fmt::format("launcher pid {}", process.pid);
  return name_of(process.kind, process.rank, process.pid);
}

void write_range(const std::vector<const ProcessSummary*>& ranks, Lines& lines) {
  const auto [least, most] = std::minmax_element(
      ranks.begin(), ranks.end(),
      [](const ProcessSummary* a, const ProcessSummary* b) { return a->allocated < b->allocated; });
  constexpr double kAlike = 1.1; // times the least
  const std::int64_t a = (*least)->allocated, b = (*most)->allocated;
  const bool alike = static_cast<double>(b) <= kAlike * static_cast<double>(a);
  lines.strong(fmt::format("{}: allocated {} to {} at most",
                           alike ? fmt::format("The {} ranks are alike", ranks.size())
                                 : fmt::format("None of the {} ranks stands out", ranks.size()),
                           size(a), size(b)));
}

// Writes which ranks of the job left no trace here. They ran on another node, or their traces are lost.
void write_missing(const std::vector<const ProcessSummary*>& ranks, Lines& lines) {
  constexpr unsigned kMostRanges = 8;
  std::set<std::uint32_t> known;
  std::uint32_t world = 0;
  for (const ProcessSummary* rank : ranks) {
    known.insert(rank->rank);
    world = std::max(world, rank->world_size);
  }
  std::string missing;
  unsigned ranges = 0;
  const auto add = [&](std::uint32_t from, std::uint32_t until) { // `until`: the next rank that is not missing
    if (from >= until || ++ranges > kMostRanges) return;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", from);
    if (until - from > 1) missing += fmt::format(" to {}", until - 1);
  };
  std::uint32_t next = 0;
  for (const std::uint32_t rank : known) {
    add(next, rank);
    next = rank + 1;
  }
  add(next, world);
  if (ranges == 0) return;
  if (ranges > kMostRanges) missing += fmt::format(", and {} more ranges", ranges - kMostRanges);
  lines.paragraph("", fmt::format("{} of {} ranks left a trace here. There is none of: {}.", known.size(),
                                  std::max(world, next), missing));
}

void write_ranks(const std::vector<const ProcessSummary*>& ranks, Lines& lines) {
  std::int64_t highest = 0;
  for (const ProcessSummary* rank : ranks) highest = std::max({highest, rank->allocated, rank->resident});
  const Unit unit = unit_for(highest);
  Table table(2, {Column::text("", 8), Column::number("pid", 7), Column::number("allocated", 9),
                  Column::extra("tensors", 8), Column::number("resident", 9), Column::rest("end")});
  table.head(fmt::format("At most, {}", unit.name));
  for (const ProcessSummary* rank : ranks)
    table.row({fmt::format("rank {}", rank->rank), std::to_string(rank->pid), in_unit(rank->allocated, unit),
               in_unit(rank->tensors, unit), rank->resident == 0 ? "" : in_unit(rank->resident, unit),
               rank->ended});
  table.write(lines);
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

std::string ranks_text(const std::vector<ProcessSummary>& processes, const std::vector<Outlier>& outliers,
                       const Screen& screen) {
  const std::vector<const ProcessSummary*> ranks = ranks_of(processes);
  if (ranks.size() < 2) return "";
  Lines lines(screen);
  for (const Outlier& outlier : outliers) write_outlier(outlier, lines);
  if (outliers.empty()) write_range(ranks, lines);
  write_missing(ranks, lines);
  for (const ProcessSummary* rank : ranks)
    for (const std::string& title : rank->findings)
      lines.labelled(fmt::format("  rank {}: ", rank->rank), "          ", printable(title));
  lines.plain("");
  write_ranks(ranks, lines);
  lines.plain("");
  return lines.take();
}

std::string others_text(const std::vector<ProcessSummary>& processes, std::size_t shown, const Screen& screen) {
  const bool ranks = ranks_of(processes).size() >= 2;
  Lines lines(screen);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcessSummary& process = processes[i];
    if (i == shown || (ranks && is_rank(process))) continue;
    std::string text = shown_name(process, ranks);
    if (process.script != processes[shown].script) text += " " + process.script;
    text += fmt::format(": allocated {} at most", size(process.allocated));
    if (process.tensors != 0) text += fmt::format(", tensors {}", size(process.tensors));
    if (process.resident != 0) text += fmt::format(", resident {}", size(process.resident));
    text += ", " + process.ended + process.limited;
    if (process.lost != 0) text += fmt::format(", events lost: {}", count(process.lost));
    lines.paragraph("", text);
    for (const std::string& title : process.findings) lines.paragraph("  ", printable(title));
  }
  const std::string out = lines.take();
  return out.empty() ? out : "\n" + out;
}

std::size_t shown_in_full(const std::vector<ProcessSummary>& processes, const std::vector<Outlier>& outliers) {
  const ProcessSummary& first = processes.front();
  if (!is_rank(first) || outliers.empty() || first.died_for_memory) return 0;
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (is_rank(processes[i]) && processes[i].rank == outliers.front().rank) return i;
  return 0;
}

} // namespace memtrace::report
