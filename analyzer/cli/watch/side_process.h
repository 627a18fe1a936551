// Purpose: the process beside a traced program that watches its memory. It ends with `memtrace run`.
#pragma once

#include <sys/types.h>

#include "analyzer/cli/watch/job_watch.h"
#include "analyzer/cli/watch/watch_arguments.h"

namespace memtrace::cli {

// A process of its own: a file system that hangs must not delay `memtrace run`, which passes signals on.
class SideProcess {
 public:
  // Starts nothing if there is nothing to watch. Prints a line if no process can be started.
  SideProcess(const WatchArguments& arguments, const WatchedJob& job);
  // Ends it, and waits until the command of --on-near-limit has ended, 30 s at most.
  ~SideProcess();
  SideProcess(const SideProcess&) = delete;
  SideProcess& operator=(const SideProcess&) = delete;

 private:
  pid_t pid_ = 0;
  int until_ = -1;
};

} // namespace memtrace::cli
