// Purpose: writes the figures of the processes of a job as rows of a fleet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/export/tables/job_rows.h"
#include "analyzer/export/tables/row_stream.h"
#include "analyzer/findings/process/job_finding.h"

namespace memtrace::report {

// Add the processes in the order of ranks, then call finish(). Memory is that of the largest process.
class FleetRows {
 public:
  explicit FleetRows(RowStream::Write write) : stream_(std::move(write)) {}

  void add(ProcessAnalysis& analysis, const Findings& findings);
  // Adds findings about several processes. Call it after the last process.
  void add_job(const std::vector<JobFinding>& findings);
  void finish() { stream_.finish(); }

 private:
  void begin_partition(const trace::Facts& facts);
  void process(const ProcessAnalysis& analysis);
  void phases(const ProcessAnalysis& analysis);
  void phase(const ProcessAnalysis& analysis, const replay::Row& row, replay::Step step, bool steady);
  void peaks(ProcessAnalysis& analysis);
  void peak(ProcessAnalysis& analysis, replay::MemoryId memory, replay::Measure measure,
            const replay::Peak& peak, bool leads);
  void total(const ProcessAnalysis& analysis, replay::MemoryId memory, const char* measure,
             const replay::Peak& peak);
  void ledgers(const ProcessAnalysis& analysis);
  void findings(ProcessAnalysis& analysis, const Findings& findings);
  void levels(const ProcessAnalysis& analysis);
  void headroom(const ProcessAnalysis& analysis);

  RowStream stream_;
  std::string process_;                                            // of the rows that are written: "host/pid"
  std::optional<std::pair<std::string, std::uint32_t>> partition_; // job and rank
};

} // namespace memtrace::report
