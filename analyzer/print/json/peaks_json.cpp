// Purpose: writes the highest points of a run, with the blocks alive at them, as JSON.
#include "analyzer/print/json/peaks_json.h"

#include "analyzer/explain/segment_use.h"
#include "analyzer/print/json/holdings_json.h"
#include "analyzer/print/json/segments_json.h"

namespace memtrace::report {
namespace {

using replay::Measure;
using replay::MemoryId;

Json peak_json(const ProcessAnalysis& analysis, MemoryId memory, const char* measure, const replay::Peak& peak,
               Json rows) {
  Json out = {{"memory", memory_name(memory)},
              {"measure", measure},
              {"bytes", peak.bytes},
              {"t", peak.bucket ? Json(nullptr) : Json(analysis.seconds(peak.stamp))},
              {"phase", analysis.account.paths.text(analysis.account.paths.last(peak.path))},
              {"step", step_json(peak.step)},
              {"at_peak", peak.bucket ? Json::array() : std::move(rows)}};
  if (peak.bucket) out["bucket"] = steps_json(*peak.bucket); // the peak was in one of these steps
  return out;
}

} // namespace

Json peaks_json(ProcessAnalysis& analysis, const Options& options) {
  Json out = Json::array();
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    if (options.memory && memory_name(memory) != *options.memory) continue;
    out.push_back(peak_json(
        analysis, memory, "live", peaks.live,
        at_peak(analysis, {memory, Measure::live, peaks.live.at}, peaks.live.bytes, options.peak_top)));
    if (memory == 0)
      out.back()["reserved_untouched"] = untouched(analysis.set({memory, Measure::live, peaks.live.at}));
    out.push_back(peak_json(
        analysis, memory, "tensor", peaks.tensor,
        at_peak(analysis, {memory, Measure::tensor, peaks.tensor.at}, peaks.tensor.bytes, options.peak_top)));
    if (peaks.reserved) {
      out.push_back(peak_json(analysis, memory, "reserved", *peaks.reserved, Json::array()));
      if (const auto segments = analysis.segments.find(memory); segments != analysis.segments.end())
        out.back()["segments"] = segments_json(analysis, segments->second, options.peak_top);
    }
    if (const auto gpu = analysis.account.device_usage.find(memory);
        gpu != analysis.account.device_usage.end() && !why_use_is_unknown(analysis, memory)) {
      out.push_back(peak_json(analysis, memory, "used", *gpu->second.peak, Json::array()));
      out.back()["of"] = gpu->second.own ? "process" : "card";
      const replay::Coverage rows =
          replay::coverage(analysis.buckets, analysis.account); // their rows do not have this figure
      out.back()["not_known_in"] = rows.buckets != 0 ? steps_json(rows.steps) : Json(nullptr);
    }
    if (memory == 0 && analysis.account.rss) {
      out.push_back(peak_json(analysis, memory, "rss", *analysis.account.rss, Json::array()));
    }
  }
  return out;
}

} // namespace memtrace::report
