// Room: fold. Pure: ids in, numbers out.
// Job: which steps the data says are alike, and their median.
#include "fold/steady.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace memtrace::fold {
namespace {

constexpr double kClose = 1 << 20; // bytes

using Rows = std::map<PathId, const Row*>; // of one step
using Steps = std::map<Step, Rows>;

// The lower of the middle two, so that a median is a value that was seen.
template <typename T>
T median(std::vector<T> values) {
  const std::size_t middle = (values.size() - 1) / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  return values[middle];
}

Steps candidates(const Account& account) {
  Steps steps;
  Step after = account.first_update;
  for (const Row& row : account.rows) {
    if (row.step == Step::none || row.count == 0 || !account.whole(row.step)) continue;
    if (after == Step::none) after = row.step; // no optimizer at all: the first step is the odd one
    steps[row.step][row.path] = &row;
  }
  std::erase_if(steps, [after](const auto& step) { return step.first <= after; });
  return steps;
}

void keep_commonest_phases(Steps& steps) {
  std::map<std::vector<PathId>, std::size_t> sets;
  const auto phases = [](const Rows& rows) {
    std::vector<PathId> paths;
    for (const auto& [path, row] : rows) paths.push_back(path);
    return paths;
  };
  for (const auto& [step, rows] : steps) ++sets[phases(rows)];
  const auto best = std::max_element(sets.begin(), sets.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (best == sets.end()) return;
  std::erase_if(steps, [&](const auto& step) { return phases(step.second) != best->first; });
}

// What makes two steps alike: peak and transient of each phase in each memory, in a fixed order.
std::vector<std::int64_t> signature(const Rows& rows, std::size_t memories, bool tensors) {
  std::vector<std::int64_t> values;
  for (const auto& [path, row] : rows) {
    for (std::size_t i = 0; i < memories; ++i) {
      const MemoryRow& memory = row->of(static_cast<MemoryId>(i));
      const Figures& figures = tensors ? memory.tensor : memory.live;
      values.push_back(figures.peak);
      values.push_back(figures.transient);
    }
  }
  return values;
}

bool alike(std::int64_t value, std::int64_t middle) {
  // In floating point: a damaged trace may hold figures whose difference is no int64.
  const double distance = std::abs(static_cast<double>(value) - static_cast<double>(middle));
  return distance <= std::max(kClose, std::abs(static_cast<double>(middle)) / 100);
}

// Field by field over the rows of one path.
template <typename T, typename Get>
T median_of(const std::vector<const Row*>& rows, Get get) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const Row* row : rows) values.push_back(get(*row));
  return median(std::move(values));
}

Figures median_figures(const std::vector<const Row*>& rows, const Row& representative, MemoryId id,
                       Figures MemoryRow::*measure) {
  Figures out;
  for (std::int64_t Figures::*field :
       {&Figures::entry, &Figures::exit, &Figures::peak, &Figures::transient, &Figures::net}) {
    out.*field = median_of<std::int64_t>(rows, [&](const Row& row) { return row.of(id).*measure.*field; });
  }
  out.peak_at = (representative.of(id).*measure).peak_at;
  return out;
}

Row median_row(const std::vector<const Row*>& rows, const Row& representative) {
  Row out;
  out.path = representative.path;
  out.count = median_of<std::uint64_t>(rows, [](const Row& row) { return row.count; });
  out.rss = representative.rss;
  out.memory.resize(representative.memory.size());
  for (std::size_t i = 0; i < out.memory.size(); ++i) {
    const auto id = static_cast<MemoryId>(i);
    for (Figures MemoryRow::*measure : {&MemoryRow::live, &MemoryRow::tensor, &MemoryRow::reserved}) {
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

} // namespace

Steady steady(const Account& account) {
  Steps steps = candidates(account);
  keep_commonest_phases(steps);
  Steady out;
  if (steps.size() < 2) return out;

  std::map<Step, std::vector<std::int64_t>> signatures;
  for (const auto& [step, rows] : steps)
    signatures[step] = signature(rows, memories_of(account), account.tensors);
  std::vector<std::int64_t> middle;
  for (std::size_t i = 0; i < signatures.begin()->second.size(); ++i) {
    std::vector<std::int64_t> values;
    values.reserve(signatures.size());
    for (const auto& [step, signature] : signatures) values.push_back(signature[i]);
    middle.push_back(median(std::move(values)));
  }
  double nearest = 0;
  for (const auto& [step, signature] : signatures) {
    double distance = 0;
    bool all = true;
    for (std::size_t i = 0; i < middle.size(); ++i) {
      all = all && alike(signature[i], middle[i]);
      distance += std::abs(static_cast<double>(signature[i]) - static_cast<double>(middle[i]));
    }
    if (!all) continue;
    if (out.steps.empty() || distance < nearest) out.representative = step, nearest = distance;
    out.steps.push_back(step);
  }
  if (out.steps.size() < 2) return {};
  out.rows.reserve(steps.at(out.representative).size());
  for (const auto& [path, representative] : steps.at(out.representative)) {
    std::vector<const Row*> rows;
    rows.reserve(out.steps.size());
    for (const Step step : out.steps) rows.push_back(steps.at(step).at(path));
    out.rows.push_back(median_row(rows, *representative));
  }
  return out;
}

} // namespace memtrace::fold
