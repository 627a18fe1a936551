// Purpose: writes the report of a job: what differs among its ranks, then its processes.
#include "analyzer/print/text/job_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "analyzer/print/text/job_head.h"
#include "analyzer/print/text/outlier_text.h"
#include "analyzer/print/text/rank_table.h"
#include "analyzer/rss/cgroup_breakdown.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_lines.h"
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

void write_range(const std::vector<const ProcessSummary*>& ranks, const std::string& of, Lines& lines) {
  const auto [least, most] = std::minmax_element(
      ranks.begin(), ranks.end(),
      [](const ProcessSummary* a, const ProcessSummary* b) { return a->allocated < b->allocated; });
  constexpr double kAlike = 1.1; // times the least
  const std::int64_t a = (*least)->allocated, b = (*most)->allocated;
  const bool alike = static_cast<double>(b) <= kAlike * static_cast<double>(a);
  lines.strong(fmt::format("{}: allocated {} to {} at most",
                           alike ? fmt::format("The {} ranks{} are alike", ranks.size(), of)
                                 : fmt::format("None of the {} ranks{} stands out", ranks.size(), of),
                           size(a), size(b)));
}

// Pipeline stages hold other parts of the model, so each is compared by itself.
void write_ranges(const std::vector<const ProcessSummary*>& ranks, Lines& lines) {
  constexpr std::size_t kMostStages = 8;
  std::map<std::uint32_t, std::vector<const ProcessSummary*>> stages;
  for (const ProcessSummary* rank : ranks) stages[trace::stage_of(rank->coordinates)].push_back(rank);
  if (stages.size() == 1 || stages.size() > kMostStages) return write_range(ranks, "", lines);
  for (const auto& [number, stage] : stages) {
    if (stage.size() > 1) write_range(stage, fmt::format(" of stage {}", number), lines);
  }
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

// Returns the title with each number as one #, so that equal findings of several ranks have one line.
std::string without_numbers(const std::string& title) {
  std::string out;
  for (const char c : title) {
    const bool number = (c >= '0' && c <= '9') || (c == '.' && !out.empty() && out.back() == '#');
    if (!number) out += c;
    if (number && (out.empty() || out.back() != '#')) out += '#';
  }
  return out;
}

// Writes each finding once, with the ranks that have it. The figures are those of the first of these ranks.
void write_findings(const std::vector<const ProcessSummary*>& ranks, Lines& lines) {
  constexpr std::size_t kMostLines = 8;
  struct SharedFinding {
    std::string title;
    std::vector<std::uint32_t> ranks;
  };
  std::vector<SharedFinding> all;
  std::map<std::string, std::size_t> known;
  for (const ProcessSummary* rank : ranks) {
    for (const std::string& title : rank->findings) {
      const auto [at, fresh] = known.try_emplace(without_numbers(title), all.size());
      if (fresh) all.push_back({title, {}});
      std::vector<std::uint32_t>& with = all[at->second].ranks;
      if (with.empty() || with.back() != rank->rank) with.push_back(rank->rank);
    }
  }
  for (std::size_t i = 0; i < std::min(kMostLines, all.size()); ++i) {
    const std::string label = "  " + ranks_named(all[i].ranks) + ": ";
    lines.labelled(label, "          ", printable(all[i].title));
  }
  if (all.size() > kMostLines)
    lines.paragraph("  ", fmt::format("{} more findings: see --all", all.size() - kMostLines));
}

} // namespace

std::string ranks_text(const std::vector<ProcessSummary>& processes, const JobDifferences& differences,
                       const Screen& screen) {
  constexpr std::size_t kMostOutliers = 4;
  const std::vector<const ProcessSummary*> ranks = ranks_of(processes);
  if (ranks.size() < 2) return "";
  Lines lines(screen);
  if (differences.death) write_first_death(*differences.death, lines);
  const std::vector<Outlier>& outliers = differences.outliers;
  for (std::size_t i = 0; i < std::min(kMostOutliers, outliers.size()); ++i) write_outlier(outliers[i], lines);
  if (outliers.size() > kMostOutliers)
    lines.paragraph(
        "", fmt::format("{} more ranks differ; --format json has them", outliers.size() - kMostOutliers));
  if (outliers.empty()) write_ranges(ranks, lines);
  write_host_outliers(differences.hosts, lines);
  write_missing(ranks, lines);
  write_findings(ranks, lines);
  write_capacity(differences.capacity, lines);
  lines.plain("");
  write_rank_table(ranks, lines);
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
