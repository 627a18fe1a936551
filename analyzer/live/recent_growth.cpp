// Purpose: the growth of a level, from its last values at equal places.
#include "analyzer/live/recent_growth.h"

#include <algorithm>
#include <vector>

#include "analyzer/replay/percentile.h"

namespace memtrace::live {
namespace {

constexpr std::size_t kFewest = 4;
constexpr double kLeast = 2 << 20; // bytes of the whole series: as in a report

} // namespace

double growth(std::span<const GrowthPoint> series) {
  if (series.size() < kFewest) return 0;
  const std::size_t apart = series.size() / 2;
  std::vector<double> each;
  for (std::size_t i = 0; i + apart < series.size(); ++i) {
    const GrowthPoint &from = series[i], &to = series[i + apart];
    if (to.at <= from.at) continue;
    each.push_back(static_cast<double>(to.bytes - from.bytes) / (to.at - from.at));
  }
  if (each.empty()) return 0;
  const double usual = replay::median(std::move(each));
  return usual * (series.back().at - series.front().at) >= kLeast ? usual : 0;
}

} // namespace memtrace::live
