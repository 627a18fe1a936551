// Purpose: follows the trace of a process that runs: its phase, its step and the figures of its devices, from
// what was appended, and its levels from the header of its rings. Stops nothing and takes no lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/decode/definitions.h"
#include "analyzer/decode/segment_file.h"
#include "analyzer/job/trace_name.h"
#include "analyzer/replay/phase_tracker.h"
#include "analyzer/trace/process_facts.h"
#include "analyzer/watch/segment_stream.h"

namespace memtrace::watch {

struct DeviceUse {
  std::uint64_t used = 0; // by all processes
  std::uint64_t total = 0;
};

class TraceFollower {
 public:
  explicit TraceFollower(report::TraceName name);

  const report::TraceName& name() const { return name_; }
  // Reads what was appended. Data reaches the file within a second or so, at once when the rings are half full.
  void update();

  std::string phase() const; // the innermost of the process; "" for none
  replay::Step step() const { return phases_->step(); }
  std::optional<std::uint32_t> rank() const { return rank_; }
  const std::map<unsigned, DeviceUse>& devices() const { return devices_; } // by index, 0 is cuda:0
  // Reads the header of the ring file. Returns nullopt if the process has ended in order or has none.
  std::optional<format::RingFileHeader> header() const;

 private:
  struct Followed { // a file that grows
    std::unique_ptr<trace::File> file;
    std::unique_ptr<trace::SegmentIndex> index;
    std::uint64_t inode = 0;
    std::size_t read = 0; // segments
  };
  bool open(Followed& followed, const std::string& path, bool is_trace);
  void read(Followed& followed);
  void find_window();
  void take(std::uint32_t thread, const format::RingRecord& record);
  void restart();

  report::TraceName name_;
  std::string stem_; // the path without its ending
  Followed trace_;
  Followed window_; // the newest
  SegmentStream stream_;
  SegmentStream window_stream_;
  trace::Definitions definitions_;
  trace::Facts facts_; // those that decide how steps are counted
  std::unique_ptr<replay::Phases> phases_;
  bool again_ = false; // a fact that decides about earlier steps was found
  std::optional<std::uint32_t> rank_;
  std::map<unsigned, DeviceUse> devices_;
  std::string rings_; // their path, if they are not beside the trace
};

} // namespace memtrace::watch
