// Purpose: which steps a report shows, and what answers each: its own events, or its bucket.
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
  Step as = Step::none;              // the step it answers for
  const BucketRow* bucket = nullptr; // where it does so for others, too; then `row` is the largest of them
};

struct Shown {
  std::vector<ShownRow> rows;
  std::deque<Row> kept; // of the account, unpacked: what `rows` point to
  bool steady = false;  // and the medians
  bool cut = false;     // more steps were asked for than are shown
};
inline constexpr std::size_t kMostSteps = 1 << 20; // that are answered one by one

// By default what has no step, steps 0 and 1, those of the peaks, the last, and the steady ones. A range gives
// each step under its own number; all gives each bucket once, under its first step.
Shown choose(const Account& account, const Buckets& buckets, const StepChoice& choice);

} // namespace memtrace::replay
