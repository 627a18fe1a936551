// Purpose: chooses the steps whose rows remain if a run has more rows than memory should hold.
#include "analyzer/attribute/row_thinning.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

constexpr std::int64_t kAtBothEnds = 1024; // steps
constexpr std::size_t kMostSpecial = 4096; // steps of each kind
constexpr std::size_t kRarePart = 256;     // a set of phases that fewer steps have is rare

std::int64_t number(Step step) {
  return static_cast<std::int64_t>(step);
}

} // namespace

std::vector<RowThinning::StepFacts> RowThinning::facts_of(const Rows& rows) {
  std::vector<StepFacts> out;
  std::unordered_map<Step, std::size_t> place;
  for (const Row& row : rows) {
    if (row.step == Step::none) continue;
    const auto [at, fresh] = place.try_emplace(row.step, out.size());
    if (fresh) out.emplace_back().step = row.step;
    StepFacts& facts = out[at->second];
    ++facts.rows;
    if (row.count == 0) continue; // `other` has no levels
    facts.phases += (static_cast<std::uint64_t>(row.path) + 1) * 0x9E3779B97F4A7C15;
    for (const MemoryRow& memory : row.memory) {
      const Figures& figures = memory.tensor.peak != 0 ? memory.tensor : memory.live;
      facts.rise = std::max(facts.rise, wrapping_sub(figures.peak, figures.entry));
      facts.live = std::max(facts.live, memory.live.peak);
      facts.tensor = std::max(facts.tensor, memory.tensor.peak);
    }
  }
  return out;
}

bool RowThinning::is_regular(const StepFacts& step, Step newest) const {
  const std::int64_t at = number(step.step);
  return at < kAtBothEnds || at > number(newest) - kAtBothEnds || static_cast<std::uint64_t>(at) % stride_ == 0;
}

// Returns the steps that remain whatever the stride is, ascending.
std::vector<Step> RowThinning::special_steps(const std::vector<StepFacts>& steps) const {
  std::vector<Step> out = kept_;
  std::unordered_map<std::uint64_t, std::size_t> sets;
  for (const StepFacts& step : steps) ++sets[step.phases];
  std::vector<const StepFacts*> by_rise;
  std::size_t rare = 0;
  for (const StepFacts& step : steps) {
    const auto at = static_cast<std::uint64_t>(step.step);
    const bool is_rare = sets[step.phases] * kRarePart < steps.size() && rare < kMostSpecial;
    if (is_rare) ++rare;
    if (is_rare || (wanted_.from <= at && at <= wanted_.to)) out.push_back(step.step);
    by_rise.push_back(&step);
  }
  const std::size_t most = std::min({kMostSpecial, by_rise.size(), most_rows_ / 16});
  std::nth_element(by_rise.begin(), by_rise.begin() + static_cast<std::ptrdiff_t>(most), by_rise.end(),
                   [](const StepFacts* a, const StepFacts* b) {
                     return a->rise != b->rise ? a->rise > b->rise : a->step < b->step;
                   });
  for (std::size_t i = 0; i < most; ++i) out.push_back(by_rise[i]->step);
  for (std::int64_t StepFacts::*level : {&StepFacts::live, &StepFacts::tensor})
    out.push_back(std::max_element(steps.begin(), steps.end(), [level](const StepFacts& a, const StepFacts& b) {
                    return a.*level < b.*level;
                  })->step);
  std::sort(out.begin(), out.end());
  return out;
}

void RowThinning::thin(Rows& rows) {
  const std::vector<StepFacts> steps = facts_of(rows);
  if (steps.empty()) {
    next_ = 2 * rows.size();
    return;
  }
  const std::vector<Step> special = special_steps(steps);
  const Step newest = std::max_element(steps.begin(), steps.end(), [](const StepFacts& a, const StepFacts& b) {
                        return a.step < b.step;
                      })->step;
  std::size_t left = 0;
  do {
    stride_ *= 2;
    left = 0;
    for (const StepFacts& step : steps)
      if (is_regular(step, newest)) left += step.rows;
  } while (2 * left > most_rows_ && stride_ < static_cast<std::uint64_t>(number(newest)));
  Rows out;
  StepFacts one;
  for (const Row& row : rows) {
    one.step = row.step;
    if (row.step == Step::none || is_regular(one, newest) ||
        std::binary_search(special.begin(), special.end(), row.step))
      out.add(row);
  }
  rows = std::move(out);
  next_ = std::max(most_rows_, 2 * rows.size());
}

} // namespace memtrace::replay
