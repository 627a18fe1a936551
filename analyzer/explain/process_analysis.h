// Purpose: one process, folded and ready to be written as text or JSON.
#pragma once

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
#include "analyzer/job/process_end.h"
#include "analyzer/passes/allocator_segments.h"
#include "analyzer/symbols/symbolizer.h"
#include "analyzer/trace/trace.h"

namespace memtrace::report {

struct Options {
  replay::StepChoice steps;
  std::optional<std::string> memory; // "host", "cuda:0": of the text's table; JSON: only this one
  std::size_t top = 20;              // rows of a set that are shown with their site
  // The same for the sets of the process's peaks, which --all shows whole. Every phase of every step whole took
  // 13 GB for a run of 100,000 events: a job that imports much has 5,000 sites alive in each.
  std::size_t peak_top = 20;
};

// All that is known of one process. Holds the trace open.
struct ProcessAnalysis {
  std::unique_ptr<trace::Trace> trace;
  std::string kind; // of the contract: main, worker, rank, child
  ProcessEnd end;
  std::optional<Death> death;
  replay::Account account;
  replay::Buckets buckets;
  replay::Steady steady;
  replay::Shown shown;
  std::map<replay::Instant, replay::Holdings> sets;      // of every row shown and every peak
  std::map<replay::MemoryId, replay::Segments> segments; // at the peak of what the caching allocator held
  std::optional<replay::Segments> death_segments;        // of the card that had no more
  trace::Losses losses;
  std::unique_ptr<symbols::Symbolizer> symbolizer;

  const trace::Facts& facts() const { return trace->facts(); }
  // Private memory that the recorder took for itself, its rings (a file) not counted.
  std::optional<std::uint64_t> own_bytes() const;
  double seconds(format::Stamp stamp) const; // since the process's start
  const replay::Holdings& set(replay::Instant instant) const;
  std::string phase_name(replay::PathId path) const; // "step/clip"; printable
};

std::string memory_name(replay::MemoryId memory);
std::optional<replay::MemoryId> memory_named(const std::string& name);

// Passes over the trace three or four times. Throws trace::ReadError when the file cannot be read.
std::unique_ptr<ProcessAnalysis> analyze_process(std::unique_ptr<trace::Trace> trace, std::string kind,
                                                 ProcessEnd end, const Options& options);

} // namespace memtrace::report
