// Purpose: the steps that are alike by their figures, and the medians of their figures.
#include "analyzer/attribute/steady_steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/replay/percentile.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

constexpr double kClose = 1 << 20;         // bytes
constexpr std::size_t kTogether = 1 << 16; // rows that are unpacked at once

using PathSet = std::vector<PathId>; // ascending

struct Candidates {
  std::vector<Step> steps; // ascending; all have the phases of `paths`
  PathSet paths;
  std::size_t compared = 0; // steps with any phases
  bool has(Step step) const { return std::binary_search(steps.begin(), steps.end(), step); }
  std::size_t number(Step step) const {
    return static_cast<std::size_t>(std::lower_bound(steps.begin(), steps.end(), step) - steps.begin());
  }
};

// False for collections of Python's garbage, too: they come in any step, so steps would differ by them.
bool in_phase_of_step(const Account& account, const Row& row) {
  return row.step != Step::none && row.count != 0 && account.paths.text(account.paths.last(row.path)) != "gc";
}

// Returns every phase of every step after the exceptional one. This is the step of the optimizer's first
// update, or the very first step if there is no update.
std::vector<std::pair<Step, PathId>> phases_after_first(const Account& account) {
  std::vector<std::pair<Step, PathId>> all;
  std::optional<std::pair<std::uint64_t, Step>> first; // the row that began first
  for (const Row& row : account.rows) {
    if (!in_phase_of_step(account, row) || !account.whole(row.step)) continue;
    all.emplace_back(row.step, row.path);
    if (!first || row.began < first->first) first = {row.began, row.step};
  }
  if (!first) return all;
  const Step after = account.first_update != Step::none ? account.first_update : first->second;
  std::erase_if(all, [after](const auto& phase) { return phase.first <= after; });
  std::sort(all.begin(), all.end());
  return all;
}

Candidates candidates(const Account& account) {
  std::map<PathSet, std::vector<Step>> sets;
  std::size_t compared = 0;
  const auto all = phases_after_first(account);
  for (auto at = all.begin(); at != all.end();) {
    const Step step = at->first;
    PathSet paths;
    for (; at != all.end() && at->first == step; ++at) paths.push_back(at->second);
    sets[paths].push_back(step);
    ++compared;
  }
  const auto best = std::max_element(
      sets.begin(), sets.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (best == sets.end()) return {};
  return {std::move(best->second), best->first, compared};
}

// Returns the values that decide whether steps are alike: what each phase adds and gives back in each memory,
// in a fixed order. There is one vector over the steps for each of these values. Levels do not decide: under a
// leak, each step begins higher than the one before.
std::vector<std::vector<std::int64_t>> signatures(const Account& account, const Candidates& candidates,
                                                  std::size_t memories) {
  const std::size_t each = 3 * memories;
  std::vector<std::vector<std::int64_t>> values(candidates.paths.size() * each,
                                                std::vector<std::int64_t>(candidates.steps.size()));
  for (const Row& row : account.rows) {
    if (!in_phase_of_step(account, row) || !candidates.has(row.step)) continue;
    const std::size_t step = candidates.number(row.step);
    const auto path = std::lower_bound(candidates.paths.begin(), candidates.paths.end(), row.path);
    std::size_t at = static_cast<std::size_t>(path - candidates.paths.begin()) * each;
    for (std::size_t i = 0; i < memories; ++i) {
      const MemoryRow& memory = row.of(static_cast<MemoryId>(i));
      const Figures& figures = account.tensors ? memory.tensor : memory.live;
      values[at++][step] = wrapping_sub(figures.peak, figures.entry);
      values[at++][step] = figures.transient;
      values[at++][step] = figures.net;
    }
  }
  return values;
}

bool alike(std::int64_t value, std::int64_t middle) {
  // In floating point, because in a damaged trace the difference may not fit an int64.
  const double distance = std::abs(static_cast<double>(value) - static_cast<double>(middle));
  return distance <= std::max(kClose, std::abs(static_cast<double>(middle)) / 100);
}

// Returns the median of one field over the rows of one path.
template <typename T, typename Get>
T median_of(const std::vector<Row>& rows, Get get) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(get(row));
  return median(std::move(values));
}

Figures median_figures(const std::vector<Row>& rows, const Row& representative, MemoryId id,
                       Figures MemoryRow::*measure) {
  Figures out;
  for (std::int64_t Figures::*field :
       {&Figures::entry, &Figures::exit, &Figures::peak, &Figures::transient, &Figures::net}) {
    out.*field = median_of<std::int64_t>(rows, [&](const Row& row) { return row.of(id).*measure.*field; });
  }
  out.peak_at = (representative.of(id).*measure).peak_at;
  if (measure != &MemoryRow::used) return out;
  for (std::int64_t Figures::*field : {&Figures::entry, &Figures::exit, &Figures::peak}) // of all, or of none
    for (const Row& row : rows)
      if (row.of(id).used.*field == kNotShown) out.*field = kNotShown;
  return out;
}

Row median_row(const std::vector<Row>& rows, const Row& representative) {
  Row out;
  out.path = representative.path;
  out.count = median_of<std::uint64_t>(rows, [](const Row& row) { return row.count; });
  out.entered = representative.entered;
  out.left = representative.left;
  out.rss = representative.rss;
  out.memory.resize(representative.memory.size());
  for (std::size_t i = 0; i < out.memory.size(); ++i) {
    const auto id = static_cast<MemoryId>(i);
    for (Figures MemoryRow::*measure :
         {&MemoryRow::live, &MemoryRow::tensor, &MemoryRow::reserved, &MemoryRow::used}) {
      out.memory[i].*measure = median_figures(rows, representative, id, measure);
    }
    for (std::uint64_t MemoryRow::*field :
         {&MemoryRow::allocated, &MemoryRow::freed, &MemoryRow::allocations}) {
      out.memory[i].*field = median_of<std::uint64_t>(rows, [&](const Row& row) { return row.of(id).*field; });
    }
  }
  return out;
}

std::size_t memories_of(const Account& account) {
  return account.peaks.empty() ? 1 : std::size_t{account.peaks.rbegin()->first} + 1;
}

// Adds the steps that are near the median in all of `values` to `out`, and chooses the nearest step.
void choose_alike(const Candidates& candidates, const std::vector<std::vector<std::int64_t>>& values,
                  Steady& out) {
  std::vector<std::int64_t> middle;
  middle.reserve(values.size());
  for (const auto& over_steps : values) middle.push_back(median(over_steps));
  double nearest = 0;
  for (std::size_t step = 0; step < candidates.steps.size(); ++step) {
    double distance = 0;
    bool all = true;
    for (std::size_t i = 0; i < middle.size(); ++i) {
      const std::int64_t value = values[i][step];
      all = all && alike(value, middle[i]);
      distance += std::abs(static_cast<double>(value) - static_cast<double>(middle[i]));
    }
    if (!all) continue;
    if (out.steps.empty() || distance < nearest)
      out.representative = candidates.steps[step], nearest = distance;
    out.steps.push_back(candidates.steps[step]);
  }
}

} // namespace

Steady steady(const Account& account) {
  const Candidates all = candidates(account);
  Steady out;
  if (all.steps.size() < 2) return out;
  choose_alike(all, signatures(account, all, memories_of(account)), out);
  if (out.steps.size() < 2) return {};
  out.compared = all.compared;
  // Handles some paths at a time. The rows of all paths would be an unpacked copy of the account. One path at a
  // time would need a pass over the account for each path.
  const std::size_t together = std::max<std::size_t>(1, kTogether / out.steps.size());
  for (std::size_t from = 0; from < all.paths.size(); from += together) {
    const std::size_t to = std::min(all.paths.size(), from + together);
    std::unordered_map<PathId, std::vector<Row>> of;
    for (std::size_t i = from; i < to; ++i) of[all.paths[i]].reserve(out.steps.size());
    for (const Row& row : account.rows) {
      const auto path = of.find(row.path);
      if (path == of.end() || !in_phase_of_step(account, row)) continue;
      if (std::binary_search(out.steps.begin(), out.steps.end(), row.step)) path->second.push_back(row);
    }
    for (std::size_t i = from; i < to; ++i) {
      const std::vector<Row>& rows = of[all.paths[i]];
      const auto representative = std::find_if(rows.begin(), rows.end(),
                                               [&](const Row& row) { return row.step == out.representative; });
      out.rows.push_back(median_row(rows, *representative));
    }
  }
  return out;
}

} // namespace memtrace::replay
