// Purpose: follows the trace of a process that runs: its phase, its step and the figures of its devices, from
// what was appended, and its levels from the header of its rings. Stops nothing and takes no lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/decode/definitions.h"
#include "analyzer/follow/growing_files.h"
#include "analyzer/follow/segment_stream.h"
#include "analyzer/job/trace_name.h"
#include "analyzer/replay/phase_tracker.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::watch {

struct DeviceUse {
  std::uint64_t used = 0; // by all processes
  std::uint64_t total = 0;
};

class FollowedMarks {
 public:
  explicit FollowedMarks(report::TraceName name);

  const report::TraceName& name() const { return name_; }
  // Reads what was appended. Data reaches the file within a second or so, at once when the rings are half full.
  void update();

  std::string phase() const; // the innermost of the process; "" for none
  replay::Step step() const { return phases_->step(); }
  std::optional<std::uint32_t> rank() const {
    return facts_.rank == trace::kNoRank ? std::nullopt : std::optional(facts_.rank);
  }
  const std::map<unsigned, DeviceUse>& devices() const { return devices_; } // by index, 0 is cuda:0
  // Reads the header of the ring file. Returns nullopt if the process has ended in order or has none.
  std::optional<format::RingFileHeader> header() const {
    return files_ == nullptr ? std::nullopt : files_->ring_header();
  }

 private:
  bool open();
  void begin_again();
  void read_on();
  void take(std::uint32_t thread, const format::RingRecord& record);
  void add_device(const format::RingRecord& record);

  report::TraceName name_;
  std::unique_ptr<trace::GrowingFiles> files_; // null: nothing whole of the trace is there yet
  trace::SegmentStream streams_[2]{trace::SegmentStream(0),
                                   trace::SegmentStream(0)}; // trace file, newest window
  std::uint32_t window_ = 0;                                 // the newest
  trace::Definitions definitions_;
  trace::Survey survey_;
  trace::Facts facts_; // of the records that survey_ got
  std::unique_ptr<replay::Phases> phases_;
  std::map<unsigned, DeviceUse> devices_;
};

} // namespace memtrace::watch
