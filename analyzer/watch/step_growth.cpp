// Purpose: estimates how much a level grows in each step, from readings that come once a second. Pure.
#include "analyzer/watch/step_growth.h"

#include <algorithm>
#include <span>

namespace memtrace::watch {
namespace {

template <class Figures>
double median(Figures figures) {
  const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
  std::nth_element(figures.begin(), middle, figures.end());
  return static_cast<double>(*middle);
}

} // namespace

void StepGrowth::add(std::int64_t step, std::uint64_t level) {
  if (step <= last_) return;
  last_ = step;
  if (seen_++ % stride_ != 0) return;
  readings_.push_back({step, level});
  if (readings_.size() < kMost) return;
  for (std::size_t i = 0; i < kMost / 2; ++i) readings_[i] = readings_[2 * i];
  readings_.resize(kMost / 2);
  stride_ *= 2;
}

std::optional<double> StepGrowth::bytes_per_step() const {
  if (readings_.size() < kFewest) return std::nullopt;
  const std::size_t quarter = readings_.size() / 4;
  const auto levels = [](std::span<const StepReading> part) {
    std::vector<std::uint64_t> out;
    for (const StepReading& one : part) out.push_back(one.level);
    return out;
  };
  const auto steps = [](std::span<const StepReading> part) {
    std::vector<std::int64_t> out;
    for (const StepReading& one : part) out.push_back(one.step);
    return out;
  };
  const std::span<const StepReading> all(readings_);
  const auto first = all.first(quarter);
  const auto last = all.last(quarter);
  return (median(levels(last)) - median(levels(first))) / (median(steps(last)) - median(steps(first)));
}

} // namespace memtrace::watch
