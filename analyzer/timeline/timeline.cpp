// Purpose: the timeline of one process: the whole run in bins, and its most important parts block by block.
#include "analyzer/timeline/timeline.h"

#include <algorithm>

namespace memtrace::replay {
namespace {

constexpr std::size_t kMostKeyframes = 48;

bool is_in(const std::vector<RowWindow>& windows, std::size_t bin) {
  return std::any_of(windows.begin(), windows.end(), [bin](const RowWindow& window) {
    return window.first_bin <= bin && bin <= window.last_bin;
  });
}

// Returns instants outside of the windows: the highest of the first lane in each of equal parts of these bins.
std::vector<trace::Ordinal> keyframes(const LevelBins& bins, const std::vector<RowWindow>& windows) {
  std::vector<std::size_t> outside;
  for (std::size_t bin = 0; bin < bins.bins().size(); ++bin)
    if (!is_in(windows, bin)) outside.push_back(bin);
  std::vector<trace::Ordinal> out;
  const std::size_t parts = std::min(kMostKeyframes, outside.size());
  for (std::size_t part = 0; part < parts; ++part) {
    const auto first = outside.begin() + static_cast<std::ptrdiff_t>(part * outside.size() / parts);
    const auto end = outside.begin() + static_cast<std::ptrdiff_t>((part + 1) * outside.size() / parts);
    const auto top = std::max_element(
        first, end, [&](std::size_t a, std::size_t b) { return bins.of(a, 0).max < bins.of(b, 0).max; });
    out.push_back(bins.of(*top, 0).max_at);
  }
  return out;
}

} // namespace

Timeline make_timeline(const trace::Trace& trace, const TimelineRequest& request) {
  BlockGroups groups(trace, request.last_step);
  Timeline out{request.lanes, outline(trace, request.lanes, request.most_bins, request.instants, groups), {}};
  const LevelBins& bins = out.outline.bins;
  RowsWanted wanted{request.lanes,
                    choose_windows(bins, request.interests, request.most_rows),
                    {},
                    request.instants,
                    request.is_workspace,
                    request.never_touched};
  wanted.instants = keyframes(bins, wanted.windows);
  std::sort(wanted.exact.begin(), wanted.exact.end());
  out.rows = block_rows(trace, wanted, bins, groups);
  return out;
}

} // namespace memtrace::replay
