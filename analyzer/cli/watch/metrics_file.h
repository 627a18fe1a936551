// Purpose: the file of --metrics-file, for the textfile collector of Prometheus' node exporter.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/watch/memory_limit.h"
#include "analyzer/watch/step_growth.h"
#include "analyzer/watch/trace_follower.h"

namespace memtrace::cli {

using Followers = std::map<std::string, std::unique_ptr<watch::TraceFollower>>; // by path

class MetricsFile {
 public:
  static constexpr std::uint64_t kGapNs = 5'000'000'000; // between two writes

  // `path`: "" for none, then the other functions do nothing.
  explicit MetricsFile(std::string path) : path_(std::move(path)) {}
  // Removes the file: the collector would report the last figures for ever.
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // Takes a reading of each trace, so that growth can be told. Call it about once a second.
  void observe(const Followers& followers);
  // Writes if it is time. Prints a line if the file cannot be written, once.
  void write_if_due(std::uint64_t now, const std::vector<int>& pids, const Followers& followers,
                    const std::vector<watch::LimitUse>& limits);

 private:
  std::string path_;
  std::map<std::string, watch::StepGrowth> growth_; // by path of the trace
  std::uint64_t due_ = 0;
  bool written_ = false;
  bool failed_ = false;
};

} // namespace memtrace::cli
