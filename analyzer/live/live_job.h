// Purpose: follows the processes of a job, and spends at most a share of a core on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/live/live_process.h"

namespace memtrace::live {

// The chosen process is refreshed first, the others in turn, as far as the share allows. The first reading of
// each trace does not count: it is done once.
class LiveJob {
 public:
  static constexpr double kShare = 0.02; // of a core
  static constexpr double kOldest = 60;  // seconds: then a process is refreshed whatever it costs

  // `files`: the traces. `grows`: traces that come into their directories later belong to it, too.
  LiveJob(std::vector<std::string> files, bool grows);

  // Refreshes what is due. `interval`: seconds between two refreshes of a process.
  void refresh(std::size_t chosen, double interval);
  const std::vector<ProcessNow>& processes() const { return shown_; }
  std::size_t other_jobs() const { return other_jobs_; } // processes of other jobs among the files

 private:
  void find_new();
  void read(LiveProcess& process, bool counts);
  bool is_due(const LiveProcess& process, double now, double interval) const;
  void show();

  std::vector<std::string> files_;
  std::vector<std::string> directories_; // to look for new traces in; empty: no new ones count
  double looked_ = 0;
  std::vector<std::unique_ptr<LiveProcess>> all_;
  std::vector<ProcessNow> shown_;
  std::size_t other_jobs_ = 0;
  double credit_ = 0; // seconds of CPU
  double earned_ = 0; // when the credit was last raised
};

} // namespace memtrace::live
