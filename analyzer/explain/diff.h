// Purpose: compares two instants of one run or of two, row by row. The rows add up to the difference of the
// levels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// What is compared. On a device, `live` has the segments of PyTorch's allocator: one segment has tensors of
// many sites, and outlives them. So tensors are compared there, if the trace has any.
struct Compared {
  replay::MemoryId memory = 0;
  replay::Measure measure = replay::Measure::live;
};
Compared compared_in(const ProcessAnalysis& analysis, replay::MemoryId memory);
Compared compared_in(const ProcessAnalysis& a, const ProcessAnalysis& b, replay::MemoryId memory);

// One instant: the highest level of a memory within a run, a step or a phase.
struct DiffSide {
  ProcessAnalysis* analysis = nullptr;
  std::string name;  // "step 0", "steady", "a"
  std::string where; // for people: "train.py pid 12, in forward 0"
  replay::Peak peak;
  replay::MemoryId memory = 0; // two ranks may have different GPUs
  std::int64_t reserved = 0;   // bytes that were reserved and never touched; not in `peak` after difference()
};

struct DiffRow {
  std::int64_t a = 0;
  std::int64_t b = 0;
  double variance = 0; // the sum of squared 95 % errors of the sampled bytes
  std::string phase;
  std::string use; // as use_of()
  replay::Role role = replay::Role::unknown;
  format::Kind kind = format::Kind::none;
  ProcessAnalysis* analysis = nullptr; // the analysis that `stack` belongs to
  format::StackId stack{};
  std::int64_t change() const { return b - a; }
};

struct Diff {
  Compared of;
  DiffSide a, b;
  std::vector<DiffRow> rows; // largest change first; a row without a stack completes the sum
  std::int64_t total() const { return b.peak.bytes - a.peak.bytes; }
};

// The sides of a comparison. Each function throws NothingToShow if the trace lacks the instant.
DiffSide whole_run(ProcessAnalysis& analysis, const Compared& of, const std::string& name);
// Returns the peak of one step, or of any if `step` is nullopt, in one phase, or in any if `phase` is "".
DiffSide one_place(ProcessAnalysis& analysis, const Compared& of, std::optional<replay::Step> step,
                   const std::string& phase);
// Returns the peak of the first step with an optimizer update.
DiffSide first_step(ProcessAnalysis& analysis, const Compared& of, const std::string& phase);
// Returns the peak of the step that represents the steady steps.
DiffSide steady_step(ProcessAnalysis& analysis, const Compared& of, const std::string& phase);

// Compares two sides, with one more pass over each trace. Sites of two runs match if all frames have equal
// names, files and lines; addresses do not matter. The remaining sites match if only the lines, or the name of
// the main script, differ.
Diff difference(const Compared& of, DiffSide a, DiffSide b);

// The first rows, and one row for the others.
struct ShortDiff {
  std::size_t shown = 0; // rows
  DiffRow rest;
  std::size_t left = 0; // the number of rows in `rest`
};
// Returns at most `top` rows, each with a change of at least `least` bytes.
ShortDiff shorten(const Diff& diff, std::size_t top, std::int64_t least);

} // namespace memtrace::report
