// Purpose: one thread's records in order, each once, from its segments and its ring.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/decode/ring_reader.h"
#include "analyzer/decode/segment_decoder.h"
#include "analyzer/decode/segment_file.h"

namespace memtrace::trace {

// A run of one thread's records of one source: a segment, or the records that were left in a ring.
struct Run {
  format::Source source;
  std::uint64_t first_sequence;
  std::uint64_t records;
  format::Stamp first_stamp;
  std::uint64_t types;        // bit EventType
  const File* file = nullptr; // of the segment
  const Segment* segment = nullptr;
  const Leftover* leftover = nullptr;
  bool fresh = false; // first after a gap between files: records missing before it are not lost
};

// Returns the run of a segment. Returns nullopt if it is of a source that this memtrace does not know. Both
// arguments must exist as long as the run.
std::optional<Run> run_of(const File& file, const Segment& segment);
// Returns the run of a segment of a keyframe: its records are those of a snapshot.
Run keyframe_run_of(const File& file, const Segment& segment);
// Returns the run of the records that were left in a ring; there must be some.
Run run_of(const Leftover& leftover);

// The order in which the runs of one thread are read. If two begin at one record, the longer one comes first.
bool earlier(const Run& a, const Run& b);

struct Stream {
  std::uint32_t thread = 0;
  std::vector<Run> definitions;             // by sequence
  std::vector<Run> events;                  // source `cold` before source `ring`, each by sequence
  std::optional<format::SmallTotals> small; // running totals of the ring file
};

using Streams = std::map<std::uint32_t, Stream>; // by thread

// Reads the records of one thread. Holds one decoded segment at a time.
class Cursor {
 public:
  explicit Cursor(std::span<const Run> runs) : runs_(runs) {}
  // A copy continues where `other` is. Both read the same runs.
  Cursor(const Cursor& other);
  Cursor(Cursor&&) = default;

  // Retains the model at the end of the runs, for more runs. They may repeat records that were given already.
  struct FollowRuns {};
  explicit Cursor(FollowRuns) : follows_(true) {}
  // Continues with runs that came later. All runs before were read.
  void continue_with(std::span<const Run> runs) {
    runs_ = runs;
    run_ = 0;
  }

  // Returns false after the last record. Reads the file once per segment.
  bool next(format::RingRecord& out);
  // Returns the first stamp of the next run, without reading its segment. Returns ~0 after the last run.
  format::Stamp next_not_before() const;

  std::uint64_t missing() const { return missing_; }   // records that are missing by sequence numbers
  std::uint64_t sequence() const { return expected_; } // of the next record, within the current source
  bool after_gap() const { return after_gap_; }        // the last record follows a gap
  std::size_t bytes() const;                           // of memory that a copy takes, about

 private:
  bool prepare_model(const Run& run);
  bool is_given(const Run& run) const;
  bool open_next();
  bool from_run(format::RingRecord& out);

  std::span<const Run> runs_;
  std::size_t run_ = 0; // the next to open
  bool follows_ = false;
  const Run* open_ = nullptr;
  std::uint64_t in_run_ = 0; // records taken from the open run
  std::uint64_t expected_ = 0;
  format::Source source_ = format::Source::cold;
  bool after_gap_ = false;
  bool gap_ahead_ = false;
  std::uint64_t missing_ = 0;
  std::vector<std::uint8_t> payload_;
  std::unique_ptr<Model> model_;          // large, so only while there are segments
  std::optional<std::uint64_t> coded_to_; // sequence up to which the model has seen all
  std::optional<Decoder> decoder_;
};

} // namespace memtrace::trace
