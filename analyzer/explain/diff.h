// Purpose: what two instants differ in, of one run or of two: row by row, adding up to the difference of the
// levels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// One instant: the highest `live` of a memory within a run, a step or a phase.
struct DiffSide {
  ProcessAnalysis* analysis = nullptr;
  std::string name;  // "step 0", "steady", "a"
  std::string where; // for people: "train.py pid 12, in forward 0"
  replay::Peak peak;
};

struct DiffRow {
  std::int64_t a = 0;
  std::int64_t b = 0;
  double variance = 0; // of what was sampled
  std::string phase;
  replay::Role role = replay::Role::unknown;
  format::Kind kind = format::Kind::none;
  ProcessAnalysis* analysis = nullptr; // whose stack it is
  format::StackId stack{};
  std::int64_t change() const { return b - a; }
};

struct Diff {
  replay::MemoryId memory = 0;
  DiffSide a, b;
  std::vector<DiffRow> rows; // largest change first; a row without stack completes the sum
  std::int64_t total() const { return b.peak.bytes - a.peak.bytes; }
};

// What is to be compared. Each throws NothingToShow where the trace does not have it.
DiffSide whole_run(ProcessAnalysis& analysis, replay::MemoryId memory, const std::string& name);
// The highest occurrence: of a step or of any, of a phase or (empty) of any.
DiffSide one_place(ProcessAnalysis& analysis, replay::MemoryId memory, std::optional<replay::Step> step,
                   const std::string& phase);
// The first step in which an optimizer updated.
DiffSide first_step(ProcessAnalysis& analysis, replay::MemoryId memory, const std::string& phase);
// The one that stands for those that are alike.
DiffSide steady_step(ProcessAnalysis& analysis, replay::MemoryId memory, const std::string& phase);

// One more pass over each trace. Sites of two runs are alike when all frames have the same names, files and
// lines, whatever their addresses; of what is left, those alike but for the lines.
Diff difference(replay::MemoryId memory, DiffSide a, DiffSide b);

// The first rows, and one that stands for the others.
struct ShortDiff {
  std::size_t shown = 0; // rows
  DiffRow rest;
  std::size_t left = 0; // rows that `rest` stands for
};
// Shows at most `top` rows, each of which changed by `least` bytes or more.
ShortDiff shorten(const Diff& diff, std::size_t top, std::int64_t least);

} // namespace memtrace::report
