// Purpose: the first pass of a timeline: levels, phases, steps and measured figures of the whole run, in
// bounded memory.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/attribute/block_groups.h"
#include "analyzer/timeline/level_bins.h"
#include "analyzer/timeline/measured_line.h"
#include "analyzer/timeline/phase_spans.h"
#include "analyzer/timeline/step_marks.h"

namespace memtrace::replay {

struct Outline {
  LevelBins bins;
  PhaseSpans phases;
  StepMarks steps;
  MeasuredLine resident;                          // RSS of the process
  MeasuredLine charge;                            // of its cgroup
  std::map<MemoryId, MeasuredLine> used;          // of a GPU, as it reported it
  std::map<trace::Ordinal, format::Stamp> stamps; // of the instants that were asked for
  format::Stamp end = 0;                          // of the last event
  Paths paths;
};

// `instants`: events whose time the caller wants. `groups` gets the labels of the trace. Memory grows with the
// blocks that are alive, not with the events.
Outline outline(const trace::Trace& trace, const std::vector<Lane>& lanes, std::size_t most_bins,
                const std::vector<trace::Ordinal>& instants, BlockGroups& groups);

} // namespace memtrace::replay
