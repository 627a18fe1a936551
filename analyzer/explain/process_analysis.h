// Purpose: one process, analyzed and ready to be written as text or JSON.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/phase_accounting.h"
#include "analyzer/attribute/rollup_rows.h"
#include "analyzer/attribute/steady_steps.h"
#include "analyzer/attribute/step_selection.h"
#include "analyzer/explain/death.h"
#include "analyzer/explain/rare_steps.h"
#include "analyzer/job/process_end.h"
#include "analyzer/passes/allocator_segments.h"
#include "analyzer/passes/cycles.h"
#include "analyzer/passes/peak_history.h"
#include "analyzer/passes/step_starts.h"
#include "analyzer/symbols/symbolizer.h"
#include "analyzer/trace/trace.h"

namespace memtrace::report {

struct Options {
  replay::StepChoice steps;
  std::optional<std::string> memory; // "host", "cuda:0": the memory of the text's table; JSON: only this memory
  std::size_t top = 20;              // rows of a set that have their site
  // The rows with sites in the sets of the process's peaks; --all shows all of them. If all sets were shown in
  // full, a run of 100,000 events took 13 GB: after many imports, each set has 5,000 sites.
  std::size_t peak_top = 20;
  bool next_peak = false; // it will be asked for, see next_peak.h
  bool compact = false;   // JSON: sites by their id, without an indent
};

// All facts about one process. Keeps the trace open.
struct ProcessAnalysis {
  std::unique_ptr<trace::Trace> trace;
  std::string kind; // as in the JSON: main, worker, rank, child
  ProcessEnd end;
  std::optional<Death> death;
  std::unique_ptr<replay::Keyframes> keyframes; // of the pass that made `account`
  replay::Account account;
  std::optional<replay::PeakHistory> peak_history;    // of the same pass, if the options want the next peak
  std::map<replay::MemoryId, double> unused_reserved; // see passes/unused_reserved.h; of the same pass
  std::deque<replay::StepStart> step_starts;          // the last ones; of the same pass
  replay::Buckets buckets;
  replay::Steady steady;
  std::optional<replay::Cycles> cycles; // a guess, only for a process that marked no phase and no step
  std::vector<RareStep> rare_steps;     // by step
  replay::Step after_training = replay::Step::none; // see after_training.h
  replay::Shown shown;
  std::map<replay::Instant, replay::Holdings> sets;      // the holdings of every shown row and every peak
  replay::Reservations reservations;                     // of the whole trace
  std::map<replay::MemoryId, replay::Segments> segments; // at the peak of the caching allocator's bytes
  std::optional<replay::Segments> death_segments;        // of the GPU that ran out of memory
  trace::Losses losses;
  std::unique_ptr<symbols::Symbolizer> symbolizer;

  const trace::Facts& facts() const { return trace->facts(); }
  // Returns the private memory of the recorder, without its rings (a file), or nullopt if it is not recorded.
  std::optional<std::uint64_t> own_bytes() const;
  double seconds(format::Stamp stamp) const; // Returns the seconds since the process's start.
  const replay::Holdings& set(replay::Instant instant) const;
  // Returns true if a model of at least 1 MiB was trained, and no memory has its parameters as recorded blocks.
  bool lacks_parameters() const;
  std::string phase_name(replay::PathId path) const; // Returns "update/clip"; printable.
  // Returns "update 3", "forward after step 13" for what came after training, or "" outside of phases and
  // steps; printable.
  std::string phase_and_step(replay::PathId path, replay::Step step) const;
  // Returns "in update 3", "in step 3", "after step 13" or "outside training"; printable.
  std::string place(replay::PathId path, replay::Step step) const;
};

// Returns what was alive at each instant. Reads the events near the instants.
std::map<replay::Instant, replay::Holdings> alive_at(const ProcessAnalysis& analysis,
                                                     const std::vector<replay::Instant>& instants);

std::string memory_name(replay::MemoryId memory);
std::optional<replay::MemoryId> memory_named(const std::string& name);

// Reads the events three to six times. Throws trace::ReadError if the file cannot be read.
std::unique_ptr<ProcessAnalysis> analyze_process(std::unique_ptr<trace::Trace> trace, std::string kind,
                                                 ProcessEnd end, const Options& options);

} // namespace memtrace::report
