// Purpose: follows the traces of a running job on a thread of its own: a file system that hangs, or a trace
// that grows fast, must not delay the look at the limits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/job/trace_name.h"
#include "analyzer/watch/followed_marks.h"

namespace memtrace::cli {

// What the trace of one process that runs says.
struct TraceView {
  int pid = 0;
  std::string directory; // of the trace
  std::string phase;     // "": none
  replay::Step step = replay::Step::none;
  std::optional<std::uint32_t> rank;
  std::map<unsigned, watch::DeviceUse> devices; // by index
  std::optional<format::RingFileHeader> header; // of its rings
  std::optional<double> growth;                 // of the host, in bytes per step
  // Bytes that each role holds, by the names of the memory and of the role. Empty if they are not wanted.
  std::map<std::pair<std::string, std::string>, std::uint64_t> roles;
};

class TraceWatch {
 public:
  // `traces`: lists the traces of the job. It runs on the thread. `roles`: they are wanted.
  TraceWatch(std::function<std::vector<report::TraceName>()> traces, bool roles);
  // Leaves the thread alone: the process ends soon.
  ~TraceWatch() = default;
  TraceWatch(const TraceWatch&) = delete;
  TraceWatch& operator=(const TraceWatch&) = delete;

  // Returns the views as they were last read, each second or so.
  std::vector<TraceView> views() const;
  // Returns new views if they come within so many ms, else the last ones.
  std::vector<TraceView> views_within(int ms);

 private:
  struct Shared;
  static void follow(const std::shared_ptr<Shared>& shared,
                     const std::function<std::vector<report::TraceName>()>& traces, bool roles);

  std::shared_ptr<Shared> shared_; // with the thread
};

} // namespace memtrace::cli
