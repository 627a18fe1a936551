// Purpose: writes figures of a job in the text format of Prometheus.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/watch/memory_limit.h"

namespace memtrace::watch {

struct ProcessMetrics {
  int pid = 0;
  std::string rank;    // "": none
  std::string program; // its name
  std::uint64_t resident = 0;
  std::optional<std::uint64_t> resident_peak; // VmHWM
  std::map<std::string, std::uint64_t> live;  // by memory: "host", "cuda:0"; only of recorded processes
  // by memory and role; empty: they are not wanted
  std::map<std::pair<std::string, std::string>, std::uint64_t> roles;
  std::map<std::string, std::uint64_t> lost; // events by reason
  std::optional<std::uint64_t> trace_bytes;
  std::optional<std::uint64_t> recorder_bytes; // private memory of the recorder
  std::optional<std::int64_t> step;
  std::string phase;            // "": none
  std::optional<double> growth; // bytes per step
};

struct JobMetrics {
  std::string host;
  std::string job;
  std::vector<ProcessMetrics> processes;
  std::vector<LimitUse> limits;
  double unix_seconds = 0; // when they were read
};

// Each family has its HELP and TYPE line. Families without a sample are left out.
std::string metrics_text(const JobMetrics& job);

} // namespace memtrace::watch
