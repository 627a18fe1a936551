// Purpose: writes the packets of a trace of Perfetto.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/files/writing.h"

namespace memtrace::report {

// A row of the timeline: of slices and instants, or of a counter.
enum class TrackId : std::uint64_t { none = 0 };

// Times are ns since 1970. Names may hold any byte.
class PerfettoPackets {
 public:
  using Details = std::vector<std::pair<std::string, std::string>>;

  explicit PerfettoPackets(files::TakePart take) : take_(std::move(take)) {}

  // Processes with one pid, as on two hosts, get pids of their own.
  TrackId process(std::uint32_t pid, const std::string& name, const std::vector<std::string>& command);
  TrackId track(TrackId process, const std::string& name);
  TrackId bytes_counter(TrackId process, const std::string& name);

  void begin(TrackId track, std::uint64_t time, const std::string& name);
  void end(TrackId track, std::uint64_t time);
  void instant(TrackId track, std::uint64_t time, const std::string& name, const Details& details);
  void count(TrackId counter, std::uint64_t time, std::int64_t bytes);

 private:
  template <class Fill>
  void packet(Fill fill);
  template <class Fill>
  void event(std::uint64_t time, int type, TrackId track, Fill fill);
  template <class Fill>
  TrackId descriptor(Fill fill);

  files::TakePart take_;
  std::uint64_t tracks_ = 0;
  std::vector<std::uint32_t> pids_;
};

} // namespace memtrace::report
