// Purpose: the steps that a report shows, and the source of each: its own events, or the rollup.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "analyzer/attribute/rollup_rows.h"
#include "analyzer/attribute/steady_steps.h"

namespace memtrace::replay {

struct StepRange { // inclusive
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

struct StepChoice {
  std::optional<StepRange> range;
  bool all = false;
};

struct ShownRow {
  const Row* row = nullptr;
  Step as = Step::none;              // the step that it describes
  const BucketRow* bucket = nullptr; // not null: the row is `most` of this step range
};

struct Shown {
  std::vector<ShownRow> rows;
  std::deque<Row> kept; // unpacked rows of the account, to which `rows` point
  bool steady = false;  // show the medians, too
  bool cut = false;     // more steps were requested than are shown
};
inline constexpr std::size_t kMostSteps = 1 << 20; // that are shown one by one

// Returns the rows to show. The default is: rows without a step, steps 0 and 1, the steps of the peaks, the
// last step, and the steady steps. A range gives each step under its own number. `all` gives each step range
// once, under its first step.
Shown choose(const Account& account, const Buckets& buckets, const StepChoice& choice);

} // namespace memtrace::replay
