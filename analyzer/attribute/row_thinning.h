// Purpose: chooses the steps whose rows remain if a run has more rows than memory should hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/attribute/phase_rows.h"

namespace memtrace::replay {

// The steps that a command asked for. Their rows remain in any case.
struct WantedSteps {
  bool all = false;
  std::uint64_t from = 1; // inclusive; none: `from` is above `to`
  std::uint64_t to = 0;
};

// Thins the rows of a long run. These steps remain: one in `stride`; the first and the last thousand; those
// that rise the highest above their begin; those with phases that few steps have; those with the highest
// levels; those that were asked for. So memory does not grow with the number of steps, and rare steps remain.
class RowThinning {
 public:
  static constexpr std::size_t kMostRows = 1 << 20;

  explicit RowThinning(std::size_t most_rows = kMostRows) : most_rows_(most_rows) {}

  void want(const WantedSteps& wanted) { wanted_ = wanted; }
  void keep(Step step) { kept_.push_back(step); }

  bool is_due(const Rows& rows) const { return !wanted_.all && rows.size() >= next_; }
  // Removes rows, about half of them or more.
  void thin(Rows& rows);
  // One in so many steps remains. 1: all do.
  std::uint64_t stride() const { return stride_; }

 private:
  struct StepFacts {
    Step step = Step::none;
    std::size_t rows = 0;
    std::uint64_t phases = 0; // a hash of the set
    std::int64_t rise = 0;    // bytes: the largest of a phase
    std::int64_t live = 0;    // the highest levels
    std::int64_t tensor = 0;
  };
  static std::vector<StepFacts> facts_of(const Rows& rows);
  std::vector<Step> special_steps(const std::vector<StepFacts>& steps) const;
  bool is_regular(const StepFacts& step, Step newest) const;

  std::size_t most_rows_;
  std::size_t next_ = most_rows_; // rows at which thinning is due
  std::uint64_t stride_ = 1;
  WantedSteps wanted_;
  std::vector<Step> kept_;
};

} // namespace memtrace::replay
