// Purpose: the file of --metrics-file, for the textfile collector of Prometheus' node exporter.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/cli/watch/trace_watch.h"
#include "analyzer/watch/memory_limit.h"

namespace memtrace::cli {

class MetricsFile {
 public:
  static constexpr std::uint64_t kGapNs = 5'000'000'000; // between two writes

  // `path`: "" for none, then nothing is written.
  explicit MetricsFile(std::string path) : path_(std::move(path)) {}
  // Removes the file: the collector would report the last figures for ever.
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  bool is_due(std::uint64_t now) const { return !path_.empty() && now >= due_; }
  // Writes if it is time. Prints a line if the file cannot be written, once.
  void write_if_due(std::uint64_t now, const std::vector<int>& pids, const std::vector<TraceView>& traces,
                    const std::vector<watch::LimitUse>& limits);

 private:
  std::string path_;
  std::uint64_t due_ = 0;
  bool written_ = false;
  bool failed_ = false;
};

} // namespace memtrace::cli
