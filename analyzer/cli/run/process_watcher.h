// Purpose: see from outside how the processes of a job end, and write it down beside their traces.
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

// Holds a pidfd of each process that leaves a trace: once it was reaped, by whomever, a kernel from 6.15 on
// says with which status. Changes nothing for them: they stay their parents' children, also when those end (to
// be their subreaper would be seen: a daemon's parent is init).
class Watch {
 public:
  // The command's process, and since when (Unix time in ns) traces are its job's.
  Watch(JobPlace place, pid_t child, std::uint64_t since);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Waits for something to happen, a tenth of a second at most; looks for new traces and for ends. Where the
  // child has ended, which its parent must still reap, it returns at once.
  void look();
  // The child's own end, by its wait status.
  void child_ended(int status);

  // Of this job, so far.
  std::vector<std::string> traces() const;
  bool all_ended() const;
  bool somebody_was_killed() const; // by a signal, as far as is known

 private:
  struct WatchedProcess {
    int fd = -1;          // a pidfd; below 0: none, or its end is known
    std::string stem;     // of its last trace
    std::string path;     // that trace
    bool written = false; // its end
    bool signal = false;  // which was one
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
