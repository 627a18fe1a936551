// Purpose: reads from the logs of managers which processes they ended: systemd-oomd, earlyoom, Ray, torchrun.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Reads a log line by line: of a journal or syslog, of Ray's raylet or driver, of torchrun's stderr. Any text
// may precede the manager's message. Messages may have several lines: those without a time have that of the
// line before.
class ManagerLog {
 public:
  // `near_unix`: a time when the process ran. It completes times without a year.
  ManagerLog(Evidence& into, double near_unix) : into_(into), near_unix_(near_unix) {}
  void line(std::string_view text);
  void all(std::string_view text);

 private:
  bool oomd(std::string_view text);
  bool earlyoom(std::string_view text);
  bool ray(std::string_view text);
  bool torchrun(std::string_view text);
  bool torchrun_failure(std::string_view text);
  void torchrun_host(std::string_view text);
  void add(ManagerKill kill, std::string_view words);

  Evidence& into_;
  double near_unix_;
  When when_;              // of the last line with a time
  std::size_t closed_ = 0; // the kills of `into_` before this one have the failure that torchrun names
  struct TorchrunFailure { // of a process of torchrun whose summary, which names the host, may follow
    std::size_t statement = 0;
    std::size_t first_kill = 0, end_of_kills = 0;
  };
  std::map<std::uint64_t, TorchrunFailure> failures_; // by pid
  std::string host_;                                  // that the summary names
};

// True if the text has a line that ManagerLog reads.
bool is_manager_log(std::string_view text);

} // namespace memtrace::evidence
