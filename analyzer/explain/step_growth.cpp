// Purpose: how much higher each typical step begins than the one before.
#include "analyzer/explain/step_growth.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/replay/percentile.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Step;

constexpr std::int64_t kLeastGrowth = 2 << 20; // bytes of all typical steps together

// Returns the level at the begin of the first phase of each typical step.
std::vector<std::pair<Step, std::int64_t>> begins(const ProcessAnalysis& analysis, replay::MemoryId memory,
                                                  replay::Measure measure) {
  struct FirstPhase {
    std::uint64_t began = 0;
    std::int64_t entry = 0;
  };
  std::map<Step, FirstPhase> first;
  const std::vector<Step>& steps = analysis.steady.steps;
  for (const replay::Row& row : analysis.account.rows) {
    if (row.count == 0 || !std::binary_search(steps.begin(), steps.end(), row.step)) continue;
    const replay::MemoryRow& of = row.of(memory);
    const FirstPhase phase{row.began, measure == replay::Measure::tensor ? of.tensor.entry : of.live.entry};
    const auto [known, is_new] = first.emplace(row.step, phase);
    if (!is_new && phase.began < known->second.began) known->second = phase;
  }
  std::vector<std::pair<Step, std::int64_t>> out;
  out.reserve(first.size());
  for (const auto& [step, phase] : first) out.emplace_back(step, phase.entry);
  return out;
}

} // namespace

std::int64_t growth_per_step(const ProcessAnalysis& analysis, replay::MemoryId memory,
                             replay::Measure measure) {
  const auto levels = begins(analysis, memory, measure);
  if (levels.size() < 3) return 0;
  std::vector<std::int64_t> each;
  for (std::size_t i = 1; i < levels.size(); ++i)
    each.push_back(
        replay::wrapping_sub(levels[i].second, levels[i - 1].second) /
        (static_cast<std::int64_t>(levels[i].first) - static_cast<std::int64_t>(levels[i - 1].first)));
  const std::int64_t in_all = static_cast<std::int64_t>(each.size());
  const std::int64_t usual = replay::median(std::move(each));
  return usual >= kLeastGrowth / in_all ? usual : 0;
}

std::string typical_steps_agree(const ProcessAnalysis& analysis) {
  const replay::Steady& steady = analysis.steady;
  if (analysis.account.stride > 1)
    return fmt::format(
        "{} of {} agree in what each phase adds and frees; memtrace compared 1 step in {}, and those "
        "that rise the highest",
        count(steady.steps.size()), count(steady.compared), count(analysis.account.stride));
  const auto first = static_cast<std::int64_t>(steady.steps.front());
  const auto last = static_cast<std::int64_t>(steady.steps.back());
  return fmt::format("{} of {} agree in what each phase adds and frees", steady.steps.size(), last - first + 1);
}

std::string growth_in_words(std::int64_t per_step) {
  return per_step == 0 ? "" : fmt::format("each begins {} higher than the step before", fine_size(per_step));
}

} // namespace memtrace::report
