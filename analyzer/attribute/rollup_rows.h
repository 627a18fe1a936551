// Purpose: rows of the steps whose events were dropped, beside the rows of the steps whose events are there.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/attribute/phase_accounting.h"

namespace memtrace::replay {

// All occurrences of one path in the steps of one step range. `most` and `least` have the largest and smallest
// figures of one step.
struct BucketRow {
  StepSpan steps; // steps that were rolled up; none to none: the time before any step
  Row most;
  Row least;
};

// Blocks of one path, site and kind that were born in some steps.
struct Births {
  StepSpan steps; // may be more than a row's: sites have wider step ranges
  format::StackId stack{};
  format::Kind kind = format::Kind::none;
  bool tensor = false;
  bool sampled = false;    // `bytes` is an estimate, the other figures are those of the sampled blocks
  std::uint64_t count = 0; // blocks
  std::uint64_t bytes = 0;
  std::uint64_t smallest = 0; // bytes of one block
  std::uint64_t largest = 0;
  Step largest_in = Step::none; // of the largest block; none: not known
};

struct Buckets {
  std::vector<BucketRow> rows; // by step, then path
  StepSpan steps;              // that were rolled up
  std::uint64_t width = 0;     // steps of a step range; 0: there is no rollup
  std::uint64_t refused = 0;   // invalid rows of the file

  std::span<const BucketRow> of(Step step) const;
  const BucketRow* find(Step step, PathId path) const;
  // Returns the blocks that were born in the steps of a row, largest first.
  std::vector<Births> births(const BucketRow& row, MemoryId memory) const;

  std::map<std::pair<PathId, MemoryId>, std::vector<Births>> sites;
};

// Returns the rows of the rollup for steps whose events are not all there. Adds their paths to `account`, and
// the peaks whose events were dropped.
Buckets buckets(const trace::Trace& trace, Account& account);

// The steps for which only the rollup has figures, and the number of step ranges that they are in.
struct Coverage {
  StepSpan steps; // first > last: there are no such steps
  std::size_t buckets = 0;
};
Coverage coverage(const Buckets& buckets, const Account& account);

} // namespace memtrace::replay
