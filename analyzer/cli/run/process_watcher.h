// Purpose: observes from outside how the processes of a job end, and records it beside their traces.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/cli/run/job_directory.h"

namespace memtrace::cli {

// Holds a pidfd of each process that leaves a trace. After any process has reaped it, a kernel from 6.15 on
// reports its exit status. memtrace is not a subreaper, because programs would notice: the parent of a daemon
// is init.
class Watch {
 public:
  // `child`: the process of the command. `since`: traces from this Unix time in ns on belong to its job.
  Watch(JobPlace place, pid_t child, std::uint64_t since);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Waits up to 100 ms for an end, then looks for new traces and for ends. Returns at once if the child has
  // ended; its parent must still reap it.
  void look();
  // Records the end of the child, from its wait status.
  void child_ended(int status);

  // Returns the traces of this job so far.
  std::vector<std::string> traces() const;
  bool all_ended() const;
  bool somebody_was_killed() const; // True if a signal ended a process, as far as is known.

 private:
  struct WatchedProcess {
    int fd = -1;          // a pidfd; below 0: none, or the end is known
    std::string stem;     // the stem of its last trace
    std::string path;     // the path of its last trace
    bool written = false; // its end is written
    bool signal = false;  // a signal ended it
  };

  void find();
  void collect();
  void write(pid_t pid, WatchedProcess& process, int status, const char* seen);

  JobPlace place_;
  pid_t child_;
  int child_fd_;
  std::uint64_t since_;
  std::map<pid_t, WatchedProcess> processes_;
  std::set<std::string> traces_;
};

} // namespace memtrace::cli
