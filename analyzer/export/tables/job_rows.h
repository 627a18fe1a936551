// Purpose: the values of rows that the database and the files of a fleet have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "analyzer/calltree/call_tree.h"
#include "analyzer/findings/common/finding.h"
#include "analyzer/passes/level_series.h"

namespace memtrace::report {

inline constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN(); // stored as NULL

std::optional<std::int64_t> step_number(replay::Step step);
const char* measure_name(replay::SeriesMeasure measure);
std::string joined_lines(const std::vector<std::string>& lines);

// Each function gives the values of a row to `take`, in the order of the columns. The columns before them, such
// as the process, are those of the caller.

// pid, ppid, host, exe, argv, kind
template <class Take>
void identity_values(const ProcessAnalysis& analysis, Take take) {
  const trace::Facts& facts = analysis.facts();
  std::string argv = facts.argv;
  std::replace(argv.begin(), argv.end(), '\0', ' ');
  take(facts.pid, facts.ppid, facts.host, facts.exe, argv, analysis.kind);
}

// start_unix, duration, end_how, end_code, parameters
template <class Take>
void course_values(const ProcessAnalysis& analysis, Take take) {
  const trace::Facts& facts = analysis.facts();
  std::optional<std::int64_t> parameters;
  if (facts.parameters) parameters = static_cast<std::int64_t>(facts.parameters->count);
  take(static_cast<double>(facts.start_unix_ns) / 1e9, analysis.seconds(facts.last_stamp), analysis.end.how,
       analysis.end.code, parameters);
}

// count, then the levels of `live` and of `tensor` (entry, exit, peak, transient, net each), then allocated,
// freed and allocations. `other` has no levels.
template <class Take>
void phase_values(const replay::Row& row, replay::MemoryId memory, Take take) {
  const replay::MemoryRow& of = row.of(memory);
  const auto figure = [&row](std::int64_t bytes) {
    return row.count != 0 ? std::optional(bytes) : std::nullopt;
  };
  take(row.count, figure(of.live.entry), figure(of.live.exit), figure(of.live.peak), figure(of.live.transient),
       figure(of.live.net), figure(of.tensor.entry), figure(of.tensor.exit), figure(of.tensor.peak),
       figure(of.tensor.transient), figure(of.tensor.net), of.allocated, of.freed, of.allocations);
}

// id, title, memory, phase, step, bytes, bytes_at_peak, bytes_at_end, confidence, evidence, remedy
template <class Take>
void finding_values(const Finding& one, Take take) {
  take(one.id, one.title, memory_name(one.memory), one.phase, step_number(one.step), one.bytes,
       one.bytes_at_peak, one.bytes_at_end, one.certain ? "certain" : "likely", joined_lines(one.evidence),
       one.remedy);
}

// memory, measure, t, bytes of each point. See level_series().
template <class Take>
void level_values(const ProcessAnalysis& analysis, std::size_t intervals, Take take) {
  for (const replay::LevelSeries& series : replay::level_series(*analysis.trace, intervals))
    for (const replay::LevelPoint& point : series.points)
      take(memory_name(series.memory), measure_name(series.measure), analysis.seconds(point.stamp),
           point.bytes);
}

} // namespace memtrace::report
