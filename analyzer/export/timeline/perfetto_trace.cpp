// Purpose: writes phases, levels and findings of a job as a trace for Perfetto.
#include "analyzer/export/timeline/perfetto_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "analyzer/export/timeline/phase_slices.h"
#include "analyzer/passes/level_series.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kCounterIntervals = 4096; // at most 3 points for each, for each counter
constexpr std::size_t kRoleIntervals = 32;      // roles cost memory for each instant

const char* counter_name(replay::SeriesMeasure measure) {
  constexpr const char* kNames[] = {"allocated", "tensors", "reserved by the allocator", "used on the GPU",
                                    "resident"};
  return kNames[static_cast<std::size_t>(measure)];
}

class ProcessTimeline {
 public:
  ProcessTimeline(ProcessAnalysis& analysis, const Findings& findings, PerfettoPackets& packets)
      : analysis_(analysis), findings_(findings), packets_(packets) {}

  void write() {
    const trace::Facts& facts = analysis_.facts();
    std::string name = script(facts);
    if (facts.rank != trace::kNoRank) name += fmt::format(" rank {}", facts.rank);
    process_ = packets_.process(facts.pid, name, words_of_command());
    slices();
    counters();
    roles();
    instants();
  }

 private:
  std::vector<std::string> words_of_command() const {
    const std::string& joined = analysis_.facts().argv;
    std::vector<std::string> out;
    for (std::size_t at = 0; at < joined.size();) {
      const std::size_t end = std::min(joined.find('\0', at), joined.size());
      out.push_back(joined.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }

  // Stamps of a host are of one clock; the time of the day joins hosts.
  std::uint64_t time(format::Stamp stamp) const {
    const trace::Facts& facts = analysis_.facts();
    return facts.start_unix_ns + (std::max(stamp, facts.start_stamp) - facts.start_stamp);
  }

  void slices() {
    std::map<std::optional<std::uint32_t>, TrackId> tracks;
    each_slice_edge(*analysis_.trace, [&](const SliceEdge& edge) {
      auto [at, fresh] = tracks.try_emplace(edge.thread);
      if (fresh)
        at->second =
            packets_.track(process_, edge.thread ? fmt::format("phases of thread {}", *edge.thread) : "steps");
      if (edge.begins)
        packets_.begin(at->second, time(edge.stamp), edge.name);
      else
        packets_.end(at->second, time(edge.stamp));
    });
  }

  void counters() {
    for (const replay::LevelSeries& series : replay::level_series(*analysis_.trace, kCounterIntervals)) {
      const TrackId counter =
          packets_.bytes_counter(process_, memory_name(series.memory) + " " + counter_name(series.measure));
      for (const replay::LevelPoint& point : series.points)
        packets_.count(counter, time(point.stamp), point.bytes);
    }
  }

  // Writes what each role held at some of the levels, the peak among them.
  void roles() {
    std::vector<replay::Instant> instants;
    std::map<replay::Instant, replay::LevelPoint> levels;
    for (const replay::LevelSeries& series : replay::level_series(*analysis_.trace, kRoleIntervals)) {
      const bool tensor = series.measure == replay::SeriesMeasure::tensor;
      const replay::Measure measure = tensor ? replay::Measure::tensor : replay::Measure::live;
      if (!tensor && series.measure != replay::SeriesMeasure::live) continue;
      if (leading_peak(analysis_, series.memory).measure != measure) continue;
      for (const replay::LevelPoint& point : series.points) {
        instants.push_back({series.memory, measure, point.at});
        levels[instants.back()] = point;
      }
    }
    std::map<std::pair<replay::MemoryId, replay::Role>, TrackId> tracks;
    std::map<replay::MemoryId, TrackId> rests;
    const auto held = alive_at(analysis_, instants);
    std::map<replay::MemoryId, std::map<replay::Role, std::int64_t>>
        known; // roles that a memory had at any instant
    for (const auto& [instant, holdings] : held)
      for (const replay::Holding& one : holdings) known[instant.memory][one.role] = 0;
    for (const auto& [instant, holdings] : held) {
      std::map<replay::Role, std::int64_t> sums = known[instant.memory];
      const replay::LevelPoint& level = levels[instant];
      std::int64_t rest = level.bytes;
      for (const replay::Holding& one : holdings) {
        sums[one.role] = replay::wrapping_add(sums[one.role], one.bytes);
        rest = replay::wrapping_sub(rest, one.bytes);
      }
      for (const auto& [role, bytes] : sums) {
        auto [at, fresh] = tracks.try_emplace({instant.memory, role});
        if (fresh)
          at->second = packets_.bytes_counter(
              process_, memory_name(instant.memory) + " role: " + words_of(replay::role_name(role)));
        packets_.count(at->second, time(level.stamp), bytes);
      }
      if (instant.measure == replay::Measure::tensor) continue; // each tensor is recorded
      auto [at, fresh] = rests.try_emplace(instant.memory);
      if (fresh)
        at->second = packets_.bytes_counter(process_, memory_name(instant.memory) + " role: no record");
      packets_.count(at->second, time(level.stamp), rest);
    }
  }

  void instants() {
    const TrackId track = packets_.track(process_, "findings");
    for (const auto& [memory, peaks] : analysis_.account.peaks) {
      const LeadingPeak leading = leading_peak(analysis_, memory);
      const replay::Peak& peak = peak_of(analysis_, leading);
      if (leading.bytes <= 0 || peak.bucket) continue;
      const char* const of = leading.measure == replay::Measure::tensor ? " of tensors" : "";
      packets_.instant(
          track, time(peak.stamp),
          fmt::format("peak of {}: {}{}", memory_name(memory), size(leading.bytes), of),
          {{"bytes", std::to_string(leading.bytes)}, {"where", analysis_.place(peak.path, peak.step)}});
    }
    for (const Finding& one : findings_) finding(track, one);
    if (analysis_.death)
      packets_.instant(track, time(analysis_.death->then.stamp), "death: " + analysis_.end.how,
                       {{"live", std::to_string(analysis_.death->then.level.live)}});
  }

  // A finding has no time of its own: it is shown at the peak that it is about.
  void finding(TrackId track, const Finding& one) {
    format::Stamp stamp = analysis_.facts().last_stamp;
    if (analysis_.account.peaks.contains(one.memory)) {
      const replay::Peak& peak = peak_of(analysis_, leading_peak(analysis_, one.memory));
      if (!peak.bucket) stamp = peak.stamp;
    }
    std::string evidence;
    for (const std::string& line : one.evidence) evidence += (evidence.empty() ? "" : " ") + line;
    packets_.instant(track, time(stamp), one.id,
                     {{"title", one.title},
                      {"bytes", std::to_string(one.bytes)},
                      {"remedy", one.remedy},
                      {"evidence", evidence}});
  }

  ProcessAnalysis& analysis_;
  const Findings& findings_;
  PerfettoPackets& packets_;
  TrackId process_ = TrackId::none;
};

} // namespace

void write_perfetto(ProcessAnalysis& analysis, const Findings& findings, PerfettoPackets& packets) {
  ProcessTimeline(analysis, findings, packets).write();
}

} // namespace memtrace::report
