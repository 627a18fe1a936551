// Purpose: the phases of a process that recur, but not in each step.
#pragma once

#include <map>
#include <vector>

#include "analyzer/explain/leak_steps.h"
#include "analyzer/explain/process_analysis.h"
#include "analyzer/passes/left_blocks.h"

namespace memtrace::report {

inline constexpr std::size_t kFewestEvents = 5; // fewer do not show that each leaves something

struct RecurringPhases {
  LeakSteps range;         // of the events that are steps
  bool leaks_show = false; // the steps are enough for `leak-per-step`
  // Phases that occur in kFewestEvents steps of the range or more, but in at most half of them, with these
  // steps, ascending. If the steps are too few for `leak-per-step`, in any number of them.
  std::map<replay::PathId, std::vector<std::int64_t>> steps;
  // True if the events are cycles that memtrace guessed. Then `counted` has one element for them.
  bool guessed = false;
  // Other phases that a program begins on purpose: save, load, generate, marks. Their occurrences are counted.
  std::vector<replay::RecurringOccurrence> counted;
};

// `least_growth`: a phase whose occurrences together left less in each memory is not counted, in bytes.
RecurringPhases recurring_phases(const ProcessAnalysis& analysis, std::int64_t least_growth);

// Returns the outermost phase of the path that is in `steps`, or PathId::other.
replay::PathId phase_of_event(const ProcessAnalysis& analysis, const RecurringPhases& phases,
                              replay::PathId path);

// Returns "evaluation", "save", "generate call", or "phase validate" for a mark.
std::string event_words(const std::string& phase);

} // namespace memtrace::report
