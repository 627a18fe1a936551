// Purpose: writes the pauses of the program's threads as JSON.
#include "analyzer/print/json/pauses_json.h"

namespace memtrace::report {
namespace {

double in_seconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

} // namespace

Json pauses_json(const ProcessAnalysis& analysis) {
  const format::Pauses& pauses = analysis.facts().pauses;
  if (pauses.sum_ns == 0) return nullptr;
  Json buckets = Json::array();
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < format::kPauseBuckets; ++i) {
    all += pauses.count[i];
    const bool last = i + 1 == format::kPauseBuckets;
    buckets.push_back(
        {{"up_to", last ? Json(nullptr) : Json(format::kPauseLimitsUs[i] / 1e6)}, {"pauses", pauses.count[i]}});
  }
  const double run = analysis.seconds(analysis.facts().last_stamp);
  const double sum = in_seconds(pauses.sum_ns);
  return {{"pauses", all},
          {"sum", sum},
          {"longest", in_seconds(pauses.longest_ns)},
          {"share", run > 0 ? Json(sum / run) : Json(nullptr)},
          {"buckets", std::move(buckets)}};
}

} // namespace memtrace::report
