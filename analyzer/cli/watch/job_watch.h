// Purpose: watches the memory of a job while it runs: warns when a limit comes near, and writes metrics.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/cli/watch/metrics_file.h"
#include "analyzer/cli/watch/near_limit_command.h"
#include "analyzer/cli/watch/trace_watch.h"
#include "analyzer/cli/watch/watch_arguments.h"
#include "analyzer/job/trace_name.h"
#include "analyzer/watch/crossings.h"
#include "analyzer/watch/limit_reader.h"
#include "analyzer/watch/process_tree.h"

namespace memtrace::cli {

struct WatchedJob {
  pid_t command = 0; // the process of the command
  std::function<std::vector<report::TraceName>()> traces;
  std::string preload; // LD_PRELOAD without memtrace
  bool quiet = false;  // no line about a limit
};

class JobWatch {
 public:
  JobWatch(const WatchArguments& arguments, WatchedJob job);

  // Returns after the other end of `until`, a pipe, was closed.
  void run(int until);

 private:
  void follow_processes(std::uint64_t now);
  void add_devices(std::vector<watch::LimitUse>& uses) const;
  std::uint64_t look(std::uint64_t now);
  void warn(std::uint64_t now, const watch::LimitUse& use);
  bool wait(int until, std::uint64_t pause);

  WatchArguments arguments_;
  WatchedJob job_;
  watch::LimitReader limits_;
  watch::Crossings crossings_;
  watch::ResidentHistory resident_;
  NearLimitCommand command_;
  MetricsFile metrics_;
  TraceWatch traces_;
  std::vector<TraceView> views_; // as they were last read
  std::vector<int> pids_;
  std::vector<watch::LimitUse> uses_; // as they were last read
  std::uint64_t processes_due_ = 0;
  std::uint64_t views_due_ = 0;
  std::uint64_t cost_ = 0; // CPU time of a look and the wait after it, the mean of the last few
};

} // namespace memtrace::cli
