// Purpose: the trace of one process: its file, windows, rollup and rings together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/decode/progress.h"
#include "analyzer/decode/quick_reading.h"
#include "analyzer/decode/ring_reader.h"
#include "analyzer/decode/rollup_reader.h"
#include "analyzer/decode/segment_file.h"
#include "analyzer/decode/window_files.h"
#include "analyzer/trace/event_merger.h"
#include "analyzer/trace/events_ahead.h"
#include "analyzer/trace/kernel_samples.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::trace {

// The events that are missing, by reason. Events that were only counted are in the totals of small blocks.
struct Losses {
  std::map<std::string, std::uint64_t> events; // by Loss name, "gap", "torn"; without reasons that are 0
  std::uint64_t cut_stacks = 0;                // not lost: recorded with only the outer part of the stack
  std::uint64_t damaged_bytes = 0;
  std::uint64_t damaged_at = 0; // offset of the first of them
  std::string damaged_file;     // name of the file that has this offset
  std::uint64_t coarsened = 0;  // events that were dropped: only rows of the rollup remain
  bool rows_missing = false;    // these rows are missing, too
  std::uint64_t left_out = 0;   // events that --quick did not read: rows of the rollup stand for them
  format::Stamp shut_since = 0; // not 0: since then no file could be written, and the rings have the rest
  std::uint64_t shut_why = 0;   // the reason, a Loss
  void damage(std::uint64_t bytes, std::uint64_t at, const std::string& path);
  std::uint64_t total() const;
};

// The parts of a trace that this memtrace does not read, because a newer memtrace wrote them.
struct NewerParts {
  std::uint16_t version = 0;  // the highest; 0: there are none
  std::uint64_t segments = 0; // of the trace file and its windows
  std::uint64_t all = 0;      // segments, known or not
  std::uint64_t bytes = 0;    // of `segments`
  bool rings = false;         // the ring file
  bool rollup = false;        // the rows of dropped steps
  std::string writer;         // version of memtrace; "": the trace does not say it
};

// Opens a trace as it is now. The trace does not change afterwards, even if the process continues: every pass
// sees equal events. Memory grows with threads, segments and what the process interned.
class Trace {
 public:
  // Throws ReadError if nothing of the trace can be read. `progress` gets reports of every pass. `quick` reads
  // some stretches alone, see choose_quickly(). The others are like windows that were dropped.
  explicit Trace(const std::string& path, Progress* progress = nullptr,
                 ReadExtent extent = extent_of_command());

  const std::string& path() const { return file_.path(); }
  std::uint64_t trace_id() const { return index_.trace_id(); }
  const Definitions& definitions() const { return definitions_; }
  const Facts& facts() const { return facts_; }
  // Failures have no ordinals here.
  const Samples& samples() const { return samples_; }
  std::uint64_t records() const { return records_; } // by the headers
  // Returns the bytes of the trace file, its windows and its rollup.
  std::uint64_t bytes() const;
  std::uint64_t left_out() const { return left_out_; } // records that --quick leaves out
  bool has_rings() const { return rings_.has_value(); }
  const Rings* rings() const { return rings_ ? &*rings_ : nullptr; }
  // Returns the rows of the steps whose events were dropped. Returns null if there is no rollup.
  const RollupRows* rollup() const { return rollup_.rollup ? &*rollup_.rollup : nullptr; }

  // Returns the version of memtrace that recorded the trace. Returns "" if the trace does not say it.
  const std::string& writer() const { return index_.writer(); }
  NewerParts newer() const;

  // A place between two events of a pass, from which another pass may continue.
  struct Place {
    std::size_t part = 0;
    std::unique_ptr<const Order> order; // of this part
  };
  // Where a pass gets the places that it reaches.
  struct Places {
    CopyStride stride = 0; // records between two places; 0: no more places are wanted
    std::function<void(Place)> reached;
  };
  using TakeBatch = std::function<bool(std::span<const Event>)>; // returns false to end the pass
  // Gives every event to `take`, in order, some at a time. If `places` is not null, it gets places of this
  // pass.
  OrderCounts pass(const TakeBatch& take, Places* places = nullptr) const;
  // Gives the events from `place` on to `take`.
  void continue_from(const Place& place, const TakeBatch& take) const;

  // Gives every event to `take`, in order. After a gap between windows, a `window` event comes first, with the
  // state at that time: see window_snapshot.h. Returns the counts of the pass.
  OrderCounts each(const std::function<void(const Event&)>& take) const;

  // Returns the losses. `counts` is the result of a pass.
  Losses losses(const OrderCounts& counts) const;

 private:
  // Files that follow each other without missing records, merged by stamp.
  struct TracePart {
    std::vector<Run> snapshot; // empty for the first part
    Streams threads;
    bool placed = true;   // false: the part before is unknown, so its events are only counted
    bool follows = false; // follows the part before, which is damaged
  };

  OrderCounts read(const Place* from, const TakeBatch& take, Places* places) const;
  void leave_out();
  void find_rings(ReadExtent extent);
  void take_rings(const std::string& path);
  void build_parts();
  void take(const File& file, const SegmentIndex& index, bool with_snapshot);
  TracePart& new_part();
  void add_rings();
  void find_gaps();
  static void mistrust_totals(const Streams& threads, Beginning& beginning);
  void survey();

  Progress* progress_; // or null
  File file_;
  SegmentIndex index_;
  std::optional<Rings> rings_;
  std::uint16_t newer_rings_ = 0; // version of a ring file that this memtrace does not know
  std::vector<WindowFile> windows_;
  RollupFile rollup_;
  std::vector<TracePart> parts_;
  Definitions definitions_;
  Facts facts_;
  Samples samples_;
  std::uint64_t records_ = 0; // by the headers
  std::uint64_t missing_definitions_ = 0;
  std::uint64_t missing_between_ = 0; // records between parts that follow each other
  std::uint64_t folded_ = 0;          // records between all other parts, as far as they can be counted
  std::uint64_t unplaced_ = 0;        // records of parts that are not placed
  std::uint64_t left_out_ = 0;        // records that --quick leaves out
};

} // namespace memtrace::trace
