// Purpose: finds a rank that holds more than the other ranks, and what makes the difference.
#include "analyzer/rss/rank_outliers.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/replay/percentile.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"

namespace memtrace::report {
namespace {

using replay::Measure;
using replay::MemoryId;

constexpr std::int64_t kLeastMore = 64 << 20;
constexpr std::int64_t kPartMore = 10;
constexpr std::size_t kRows = 40; // the largest rows of each rank are compared
constexpr std::size_t kShownRows = 3;

const replay::Peak& peak_of(const replay::MemoryPeaks& peaks, MemoryId memory) {
  return memory == 0 ? peaks.live : peaks.tensor;
}

} // namespace

void Ranks::add(ProcessAnalysis& analysis) {
  if (analysis.facts().rank == trace::kNoRank || analysis.kind == "worker" || analysis.kind == "child") return;
  add(analysis, 0, host_);
  MemoryId gpu = 0;
  for (const auto& [memory, peaks] : analysis.account.peaks)
    if (memory != 0 && (gpu == 0 || peaks.tensor.bytes > analysis.account.peaks.at(gpu).tensor.bytes))
      gpu = memory;
  if (gpu != 0) add(analysis, gpu, cards_);
}

void Ranks::add(Ranks&& others) {
  std::move(others.host_.begin(), others.host_.end(), std::back_inserter(host_));
  std::move(others.cards_.begin(), others.cards_.end(), std::back_inserter(cards_));
}

void Ranks::add(ProcessAnalysis& analysis, MemoryId memory, std::vector<Rank>& to) {
  Rank out;
  out.rank = analysis.facts().rank;
  out.pid = analysis.facts().pid;
  out.coordinates = trace::coordinates_of(analysis.facts());
  out.memory = memory_name(memory);
  out.peak = peak_of(analysis.account.peaks.at(memory), memory);
  if (memory == 0)
    out.peak.bytes = replay::wrapping_sub(out.peak.bytes, leading_peak(analysis, memory).reserved);
  out.phase = analysis.account.paths.text(analysis.account.paths.last(out.peak.path));
  const replay::Holdings& alive =
      analysis.set({memory, memory == 0 ? Measure::live : Measure::tensor, out.peak.at});
  std::int64_t rest = out.peak.bytes;
  for (const replay::Holding& one : alive) rest = replay::wrapping_sub(rest, one.bytes - one.untouched);
  // What no row has: small blocks, or what the process held before its recording began.
  if (rest > 0)
    out.rows[""] = {replay::role_name(replay::Role::unknown), uncovered_row(analysis.facts(), memory != 0),
                    rest, 0, nullptr};
  for (std::size_t i = 0; i < std::min(kRows, alive.size()); ++i) {
    if (alive[i].stack == format::StackId{}) continue;
    const symbols::Site& site = analysis.symbolizer->site(alive[i].stack);
    const std::string role = replay::role_name(alive[i].role);
    // By the user's line: a larger batch is larger in each layer of the model.
    const std::string& line = site.line();
    OutlierRow& row = out.rows[fmt::format("{}\n{}", role, line)];
    if (row.site == nullptr)
      row = {role, site.op.empty() ? line : line + " by " + site.op, 0, 0, symbols::keep(site)};
    row.here = replay::wrapping_add(row.here, alive[i].bytes - alive[i].untouched);
  }
  to.push_back(std::move(out));
}

std::vector<OutlierRow> Ranks::larger_rows(const Rank& one, const std::vector<const Rank*>& others) {
  std::vector<OutlierRow> out;
  for (const auto& [key, row] : one.rows) {
    std::vector<std::int64_t> there;
    for (const Rank* rank : others) {
      const auto at = rank->rows.find(key);
      there.push_back(at == rank->rows.end() ? std::int64_t{0} : at->second.here);
    }
    out.push_back(row);
    out.back().there = replay::median(std::move(there));
    if (out.back().here <= out.back().there) out.pop_back();
  }
  std::stable_sort(out.begin(), out.end(), [](const OutlierRow& a, const OutlierRow& b) {
    return a.here - a.there > b.here - b.there;
  });
  out.resize(std::min(out.size(), kShownRows));
  return out;
}

std::optional<Outlier> Ranks::outlier(const std::vector<const Rank*>& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  const Rank& one = **std::max_element(
      ranks.begin(), ranks.end(), [](const Rank* a, const Rank* b) { return a->peak.bytes < b->peak.bytes; });
  std::vector<const Rank*> others;
  std::vector<std::int64_t> peaks;
  for (const Rank* rank : ranks) {
    if (rank == &one) continue;
    others.push_back(rank);
    peaks.push_back(rank->peak.bytes);
  }
  Outlier out;
  out.rank = one.rank, out.pid = one.pid, out.memory = one.memory, out.coordinates = one.coordinates;
  out.bytes = one.peak.bytes, out.phase = one.phase, out.step = one.peak.step;
  out.others = peaks.size();
  out.least = *std::min_element(peaks.begin(), peaks.end());
  out.most = *std::max_element(peaks.begin(), peaks.end());
  out.median = replay::median(peaks);
  for (const Rank* rank : others)
    if (rank->peak.bytes == out.median) out.typical = rank->rank;
  const std::int64_t more = replay::wrapping_sub(out.bytes, out.median);
  if (more < kLeastMore || more < out.median / kPartMore || more / 2 < out.most - out.least)
    return std::nullopt;
  out.rows = larger_rows(one, others);
  return out;
}

std::vector<Outlier> Ranks::outliers() const {
  std::vector<Outlier> out;
  for (const std::vector<Rank>* ranks : {&host_, &cards_}) {
    std::map<std::uint32_t, std::vector<const Rank*>> stages;
    for (const Rank& rank : *ranks) stages[trace::stage_of(rank.coordinates)].push_back(&rank);
    const std::size_t before = out.size();
    for (const auto& [number, stage] : stages) {
      auto found = outlier(stage);
      if (!found) continue;
      found->of_stage = stages.size() > 1;
      out.push_back(std::move(*found));
    }
    std::stable_sort(
        out.begin() + static_cast<std::ptrdiff_t>(before), out.end(),
        [](const Outlier& a, const Outlier& b) { return a.bytes - a.median > b.bytes - b.median; });
  }
  return out;
}

} // namespace memtrace::report
