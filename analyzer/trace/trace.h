// Purpose: one process's trace, file and rings together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/decode/progress.h"
#include "analyzer/decode/ring_reader.h"
#include "analyzer/decode/rollup_reader.h"
#include "analyzer/decode/segment_file.h"
#include "analyzer/decode/window_files.h"
#include "analyzer/trace/event_merger.h"
#include "analyzer/trace/kernel_samples.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::trace {

// What is missing, by reason. Events that were only counted are in the totals of `small` blocks.
struct Losses {
  std::map<std::string, std::uint64_t> events; // by Loss name, "gap", "torn"; none that is 0
  std::uint64_t cut_stacks = 0;                // not lost: recorded with the outer part of the stack alone
  std::uint64_t damaged_bytes = 0;
  std::uint64_t damaged_at = 0; // offset of the first of them
  std::string damaged_file;     // and the name of the file it is in
  std::uint64_t coarsened = 0;  // events that only rows are left of
  bool rows_missing = false;    // or not even those
  format::Stamp shut_since = 0; // not 0: from then on no file could be written, and the rings have the rest
  std::uint64_t shut_why = 0;   // a Loss
  void damage(std::uint64_t bytes, std::uint64_t at, const std::string& path);
  std::uint64_t total() const;
};

// Opens a trace as it is now. What it holds does not change afterwards, though the process may go on: every
// pass sees the same events. Memory grows with threads, segments and what the process interned.
class Trace {
 public:
  // Throws ReadError when nothing of it can be read. `progress` is told of every pass.
  explicit Trace(const std::string& path, Progress* progress = nullptr);

  const std::string& path() const { return file_.path(); }
  const Definitions& definitions() const { return definitions_; }
  const Facts& facts() const { return facts_; }
  // Failures have no ordinals here.
  const Samples& samples() const { return samples_; }
  std::uint64_t records() const { return records_; } // that the headers promise
  // Of the trace file, its windows and its rows.
  std::uint64_t bytes() const;
  bool has_rings() const { return rings_.has_value(); }
  const Rings* rings() const { return rings_ ? &*rings_ : nullptr; }
  // What is left of steps that were folded away; null when none was.
  const RollupRows* rollup() const { return rollup_.rollup ? &*rollup_.rollup : nullptr; }

  // Every event in order. After a gap between windows a `window` event comes first, with what was so then: see
  // snapshot.h. Returns what the pass counted.
  OrderCounts each(const std::function<void(const Event&)>& take) const;

  // `counts` is what a pass returned.
  Losses losses(const OrderCounts& counts) const;

 private:
  // Files that follow each other with nothing missing between them, merged by stamp.
  struct TracePart {
    std::vector<Run> snapshot; // empty: of the first
    Streams threads;
    bool placed = true;   // false: nobody knows what went before, so its events are only counted
    bool follows = false; // the part before, but that is damaged
  };

  void find_rings();
  format::LostBlocks lost_blocks() const;
  void build_parts();
  static void take(const File& file, const SegmentIndex& index, TracePart& part);
  void add_rings();
  void find_gaps();
  static void mistrust_totals(const Streams& threads, Beginning& beginning);
  void survey();

  Progress* progress_; // or null
  File file_;
  SegmentIndex index_;
  std::optional<Rings> rings_;
  std::vector<WindowFile> windows_;
  RollupFile rollup_;
  std::vector<TracePart> parts_;
  Definitions definitions_;
  Facts facts_;
  Samples samples_;
  std::uint64_t records_ = 0; // that the headers promise
  std::uint64_t missing_definitions_ = 0;
  std::uint64_t missing_between_ = 0; // parts that follow each other
  std::uint64_t folded_ = 0;          // records between the others, as far as they can be counted
  std::uint64_t unplaced_ = 0;        // records
};

} // namespace memtrace::trace
