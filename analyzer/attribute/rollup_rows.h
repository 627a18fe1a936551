// Purpose: steps whose events were folded away, as rows beside those of steps that are there in detail.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/attribute/phase_accounting.h"

namespace memtrace::replay {

// All occurrences of one path in the steps of one bucket. Figures are of one step: the largest, the smallest.
struct BucketRow {
  StepSpan steps; // of those that were folded; from none to none: what was before any step
  Row most;
  Row least;
};

// Blocks of one path, site and kind that were born in some steps.
struct Births {
  StepSpan steps; // may be more than a row's: sites are folded into wider buckets
  format::StackId stack{};
  format::Kind kind = format::Kind::none;
  bool tensor = false;
  bool sampled = false;    // `bytes` is an estimate, the other figures are those of the blocks that were drawn
  std::uint64_t count = 0; // blocks
  std::uint64_t bytes = 0;
  std::uint64_t smallest = 0; // bytes of one block
  std::uint64_t largest = 0;
};

struct Buckets {
  std::vector<BucketRow> rows; // by step, then path
  StepSpan steps;              // that were folded
  std::uint64_t width = 0;     // steps of a bucket; 0: nothing was folded
  std::uint64_t refused = 0;   // rows of the file that make no sense

  std::span<const BucketRow> of(Step step) const;
  const BucketRow* find(Step step, PathId path) const;
  // What was born in the steps of a row, largest first.
  std::vector<Births> births(const BucketRow& row, MemoryId memory) const;

  std::map<std::pair<PathId, MemoryId>, std::vector<Births>> sites;
};

// `account` learns the paths of the rows, and of peaks that no event is left of.
Buckets buckets(const trace::Trace& trace, Account& account);

// What the steps from first to last that are not there in detail are answered by.
struct Coverage {
  StepSpan steps; // first > last: all are there in detail
  std::size_t buckets = 0;
};
Coverage coverage(const Buckets& buckets, const Account& account);

} // namespace memtrace::replay
