// Purpose: writes the highest point of each phase over all steps as JSON.
#include "analyzer/print/json/phase_peaks_json.h"

#include <functional>
#include <map>
#include <utility>

#include "analyzer/explain/allocated_figures.h"
#include "analyzer/print/json/site_json.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

struct HighestInPhase {
  std::int64_t bytes = -1; // -1: none yet
  replay::Step step = replay::Step::none;
  std::int64_t untouched = 0; // of reservations, at that point

  bool raise(std::int64_t to, replay::Step in) {
    if (to <= bytes) return false;
    bytes = to;
    step = in;
    return true;
  }
};

struct PhasePeak {
  HighestInPhase live, tensor;
};

using PhasePeaks = std::map<std::pair<replay::PathId, replay::MemoryId>, PhasePeak>;

using Untouched = std::function<std::int64_t(const replay::Row&)>;

// `step`: none for a range of steps. `untouched`: of the reservations of the host at the highest point of a
// row.
void raise(PhasePeaks& peaks, const replay::Row& row, replay::Step step, const Untouched& untouched) {
  if (row.count == 0) return; // `other` has no levels
  for (std::size_t memory = 0; memory < row.memory.size(); ++memory) {
    PhasePeak& peak = peaks[{row.path, static_cast<replay::MemoryId>(memory)}];
    if (peak.live.raise(row.memory[memory].live.peak, step) && memory == 0)
      peak.live.untouched = untouched(row);
    peak.tensor.raise(row.memory[memory].tensor.peak, step);
  }
}

// Returns what the highest point of a row has beside its figure in the table of phases.
std::int64_t untouched_of(const ProcessAnalysis& analysis, const replay::Row& row) {
  return replay::wrapping_sub(row.of(0).live.peak, allocated_figures(analysis, row, 0).peak);
}

// A row of the rollup has no instants, so the reservations of the process's peak stand for those of its own
// time.
std::int64_t untouched_of_rollup(const ProcessAnalysis& analysis, const replay::Row& row) {
  const auto peaks = analysis.account.peaks.find(0);
  if (peaks == analysis.account.peaks.end()) return 0;
  const auto untouched = static_cast<std::int64_t>(analysis.reservations.untouched(peaks->second.live.at));
  return row.of(0).live.peak >= untouched ? untouched : 0;
}

Json live_json(const HighestInPhase& live) {
  Json out = {{"bytes", live.bytes}, {"step", step_json(live.step)}};
  if (live.untouched != 0) out["reserved_untouched"] = live.untouched;
  return out;
}

Json path_json(const ProcessAnalysis& analysis, replay::PathId path) {
  Json out = Json::array();
  for (const std::string& name : analysis.account.paths.texts(path)) out.push_back(name);
  return out;
}

} // namespace

Json phase_peaks_json(const ProcessAnalysis& analysis, const Options& options) {
  PhasePeaks peaks;
  for (const replay::Row& row : analysis.account.rows)
    raise(peaks, row, row.step, [&](const replay::Row& one) { return untouched_of(analysis, one); });
  for (const replay::BucketRow& bucket : analysis.buckets.rows) {
    const bool one = bucket.steps.first == bucket.steps.last;
    raise(peaks, bucket.most, one ? bucket.steps.first : replay::Step::none,
          [&](const replay::Row& row) { return untouched_of_rollup(analysis, row); });
  }
  Json out = Json::array();
  for (const auto& [of, peak] : peaks) {
    const auto& [path, memory] = of;
    if (options.memory && memory_name(memory) != *options.memory) continue;
    if (memory != 0 && peak.live.bytes <= 0 && peak.tensor.bytes <= 0) continue;
    out.push_back({{"memory", memory_name(memory)},
                   {"path", path_json(analysis, path)},
                   {"live", live_json(peak.live)},
                   {"tensor", {{"bytes", peak.tensor.bytes}, {"step", step_json(peak.tensor.step)}}}});
  }
  return out;
}

} // namespace memtrace::report
