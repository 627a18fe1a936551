// Purpose: writes the figures of the processes of a job as rows of a fleet.
#include "analyzer/export/tables/fleet_rows.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/export/tables/peak_groups.h"
#include "analyzer/print/json/ledger_json.h"
#include "analyzer/print/json/process_json.h"
#include "analyzer/rss/headroom.h"

namespace memtrace::report {
namespace {

using enum FleetTableId;

// Of each series, at most 3 points for each. A fleet has thousands of series.
constexpr std::size_t kSampleIntervals = 256;

std::optional<std::int64_t> said(std::uint64_t bytes) {
  if (bytes == trace::kNotSaid) return std::nullopt;
  return static_cast<std::int64_t>(bytes);
}

std::optional<std::int64_t> rank_number(std::uint32_t rank) {
  if (rank == trace::kNoRank) return std::nullopt;
  return rank;
}

// The memory of the machine and of the first GPU. Figures that the trace lacks are nullopt.
struct MachineMemory {
  std::optional<std::int64_t> memory, cache, shmem, limit, device_memory;
  std::optional<std::string> device;
};

MachineMemory machine_of(const ProcessAnalysis& analysis) {
  MachineMemory out;
  const trace::Samples& samples = analysis.trace->samples();
  if (samples.machine()) out.memory = said(samples.machine()->total);
  if (const auto& node = samples.fullest_node()) {
    out.cache = said(node->cache);
    out.shmem = said(node->shmem);
  }
  for (const trace::SampledCgroup& group : samples.groups()) {
    if (!group.last || group.last->limit == trace::kNotSaid) continue;
    const auto limit = static_cast<std::int64_t>(group.last->limit);
    out.limit = std::min(out.limit.value_or(limit), limit);
  }
  if (const auto& devices = analysis.facts().devices; !devices.empty()) {
    out.device = devices.begin()->second.name;
    out.device_memory = static_cast<std::int64_t>(devices.begin()->second.total);
  }
  return out;
}

std::optional<std::string> line_of(ProcessAnalysis& analysis, format::StackId stack) {
  if (stack == format::StackId{}) return std::nullopt;
  return analysis.symbolizer->site(stack).line();
}

std::optional<std::string> title_of(ProcessAnalysis& analysis, format::StackId stack) {
  if (stack == format::StackId{}) return std::nullopt;
  return analysis.symbolizer->site(stack).title();
}

} // namespace

void FleetRows::add(ProcessAnalysis& analysis, const Findings& found) {
  const trace::Facts& facts = analysis.facts();
  process_ = fmt::format("{}/{}", facts.host, facts.pid);
  begin_partition(facts);
  process(analysis);
  phases(analysis);
  peaks(analysis);
  ledgers(analysis);
  findings(analysis, found);
  levels(analysis);
  headroom(analysis);
}

void FleetRows::add_job(const std::vector<JobFinding>& found) {
  for (const JobFinding& one : found) {
    std::optional<std::string> line, title;
    if (one.site != nullptr) line = one.site->line(), title = one.site->title();
    finding_values(one.finding,
                   [&](const auto&... values) { stream_.row(job_findings, values..., line, title); });
  }
}

void FleetRows::begin_partition(const trace::Facts& facts) {
  const std::pair<std::string, std::uint32_t> wanted = {facts.job, facts.rank};
  if (partition_ == wanted) return;
  const bool another_job = !partition_ || partition_->first != facts.job;
  partition_ = wanted;
  stream_.partition(facts.job, facts.rank == trace::kNoRank ? std::nullopt : std::optional(facts.rank));
  if (another_job)
    stream_.row(jobs, facts.attempt, facts.launcher,
                facts.world_size != 0 ? std::optional(facts.world_size) : std::nullopt, "memtrace.parquet/1");
}

void FleetRows::process(const ProcessAnalysis& analysis) {
  const trace::Facts& facts = analysis.facts();
  const Json head = process_before_phases(analysis);
  const Json known = head.value("coordinates", Json(nullptr));
  const auto on_axis = [&](const char* axis) -> std::optional<std::int64_t> {
    if (known.is_object() && known.contains(axis) && known[axis].is_number())
      return known[axis].get<std::int64_t>();
    return std::nullopt;
  };
  const Json& trace = head["trace"];
  const MachineMemory machine = machine_of(analysis);
  identity_values(analysis, [&](const auto&... identity) {
    course_values(analysis, [&](const auto&... course) {
      stream_.row(processes, process_, identity..., rank_number(facts.local_rank), on_axis("dp"), on_axis("tp"),
                  on_axis("pp"), on_axis("ep"), course..., trace["bytes"].get<std::int64_t>(),
                  trace["events"].get<std::int64_t>(), trace["lost_events"].get<std::int64_t>(), machine.memory,
                  machine.cache, machine.shmem, machine.limit, machine.device, machine.device_memory);
    });
  });
}

void FleetRows::phases(const ProcessAnalysis& analysis) {
  for (const replay::ShownRow& shown : analysis.shown.rows) phase(analysis, *shown.row, shown.as, false);
  if (!analysis.shown.steady) return;
  for (const replay::Row& row : analysis.steady.rows) phase(analysis, row, replay::Step::none, true);
}

void FleetRows::phase(const ProcessAnalysis& analysis, const replay::Row& row, replay::Step step, bool steady) {
  const std::string name = analysis.account.paths.texts(row.path).back();
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    const std::string of = memory_name(memory);
    phase_values(row, memory, [&](const auto&... values) {
      stream_.row(FleetTableId::phases, process_, of, analysis.phase_name(row.path), name, step_number(step),
                  steady, values...);
    });
  }
}

void FleetRows::peaks(ProcessAnalysis& analysis) {
  for (const auto& [memory, of] : analysis.account.peaks) {
    const bool tensors = leading_peak(analysis, memory).measure == replay::Measure::tensor;
    peak(analysis, memory, replay::Measure::live, of.live, !tensors);
    peak(analysis, memory, replay::Measure::tensor, of.tensor, tensors);
    if (of.reserved) total(analysis, memory, "reserved", *of.reserved);
    const auto gpu = analysis.account.device_usage.find(memory);
    if (gpu != analysis.account.device_usage.end()) total(analysis, memory, "used", *gpu->second.peak);
    if (memory == 0 && analysis.account.rss) total(analysis, memory, "rss", *analysis.account.rss);
  }
}

void FleetRows::peak(ProcessAnalysis& analysis, replay::MemoryId memory, replay::Measure measure,
                     const replay::Peak& peak, bool leads) {
  const std::string name = memory_name(memory);
  const double t = peak.bucket ? kNoTime : analysis.seconds(peak.stamp);
  const std::string phase = analysis.account.paths.text(analysis.account.paths.last(peak.path));
  for (const PeakGroup& one : peak_groups(analysis, {memory, measure, peak.at}, peak))
    stream_.row(FleetTableId::peaks, process_, name, measure == replay::Measure::tensor ? "tensor" : "live",
                leads, t, phase, step_number(peak.step), one.role, one.kind, one.own_line, one.allocated_by,
                one.born_phase, one.bytes, one.untouched, one.asked, one.blocks,
                one.sampled ? "sampled" : "measured");
}

// A measure without blocks: one row.
void FleetRows::total(const ProcessAnalysis& analysis, replay::MemoryId memory, const char* measure,
                      const replay::Peak& peak) {
  const double t = peak.bucket ? kNoTime : analysis.seconds(peak.stamp);
  stream_.row(FleetTableId::peaks, process_, memory_name(memory), measure, false, t,
              analysis.account.paths.text(analysis.account.paths.last(peak.path)), step_number(peak.step),
              nullptr, nullptr, nullptr, nullptr, nullptr, peak.bytes, nullptr, nullptr, nullptr, "measured");
}

void FleetRows::ledgers(const ProcessAnalysis& analysis) {
  for (const Json& ledger : ledgers_json(analysis, {})) {
    const double t = ledger.contains("t") ? ledger["t"].get<double>() : kNoTime;
    const auto row = [&](const std::string& name, std::int64_t bytes, const std::string& how) {
      stream_.row(FleetTableId::ledgers, process_, ledger["scope"].get<std::string>(),
                  ledger["memory"].get<std::string>(), ledger["at"].get<std::string>(), t,
                  ledger["total"].get<std::int64_t>(), ledger["high_water"].get<std::int64_t>(), name, bytes,
                  how);
    };
    for (const Json& one : ledger["rows"])
      row(one["name"].get<std::string>(), one["bytes"].get<std::int64_t>(), one["how"].get<std::string>());
    row("residual", ledger["residual"].get<std::int64_t>(), "measured");
  }
}

void FleetRows::findings(ProcessAnalysis& analysis, const Findings& found) {
  for (const Finding& one : found)
    finding_values(one, [&](const auto&... values) {
      stream_.row(FleetTableId::findings, process_, values..., line_of(analysis, one.site),
                  title_of(analysis, one.site));
    });
}

void FleetRows::levels(const ProcessAnalysis& analysis) {
  for (const replay::LevelSeries& series : replay::level_series(*analysis.trace, kSampleIntervals)) {
    const std::string memory = memory_name(series.memory);
    const char* const measure = measure_name(series.measure);
    std::int64_t highest = 0;
    for (const replay::LevelPoint& point : series.points) {
      highest = std::max(highest, point.bytes);
      stream_.row(samples, process_, memory, measure, analysis.seconds(point.stamp), point.bytes);
    }
    stream_.row(usage, process_, memory, measure, series.seconds, series.byte_seconds, highest);
  }
}

void FleetRows::headroom(const ProcessAnalysis& analysis) {
  for (const Headroom& one : headrooms(analysis))
    stream_.row(FleetTableId::headroom, process_, one.of, one.name, memory_name(one.memory), one.soft,
                one.limit, one.needed, one.used);
}

} // namespace memtrace::report
