// Purpose: writes the highest point of each phase over all steps as JSON.
#include "analyzer/print/json/phase_peaks_json.h"

#include <map>
#include <utility>

#include "analyzer/print/json/site_json.h"

namespace memtrace::report {
namespace {

struct HighestInPhase {
  std::int64_t bytes = -1; // -1: none yet
  replay::Step step = replay::Step::none;

  void raise(std::int64_t to, replay::Step in) {
    if (to <= bytes) return;
    bytes = to;
    step = in;
  }
};

struct PhasePeak {
  HighestInPhase live, tensor;
};

using PhasePeaks = std::map<std::pair<replay::PathId, replay::MemoryId>, PhasePeak>;

// `step`: none for a range of steps.
void raise(PhasePeaks& peaks, const replay::Row& row, replay::Step step) {
  if (row.count == 0) return; // `other` has no levels
  for (std::size_t memory = 0; memory < row.memory.size(); ++memory) {
    PhasePeak& peak = peaks[{row.path, static_cast<replay::MemoryId>(memory)}];
    peak.live.raise(row.memory[memory].live.peak, step);
    peak.tensor.raise(row.memory[memory].tensor.peak, step);
  }
}

Json path_json(const ProcessAnalysis& analysis, replay::PathId path) {
  Json out = Json::array();
  for (const std::string& name : analysis.account.paths.texts(path)) out.push_back(name);
  return out;
}

} // namespace

Json phase_peaks_json(const ProcessAnalysis& analysis, const Options& options) {
  PhasePeaks peaks;
  for (const replay::Row& row : analysis.account.rows) raise(peaks, row, row.step);
  for (const replay::BucketRow& bucket : analysis.buckets.rows) {
    const bool one = bucket.steps.first == bucket.steps.last;
    raise(peaks, bucket.most, one ? bucket.steps.first : replay::Step::none);
  }
  Json out = Json::array();
  for (const auto& [of, peak] : peaks) {
    const auto& [path, memory] = of;
    if (options.memory && memory_name(memory) != *options.memory) continue;
    if (memory != 0 && peak.live.bytes <= 0 && peak.tensor.bytes <= 0) continue;
    out.push_back({{"memory", memory_name(memory)},
                   {"path", path_json(analysis, path)},
                   {"live", {{"bytes", peak.live.bytes}, {"step", step_json(peak.live.step)}}},
                   {"tensor", {{"bytes", peak.tensor.bytes}, {"step", step_json(peak.tensor.step)}}}});
  }
  return out;
}

} // namespace memtrace::report
