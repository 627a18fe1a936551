// Purpose: finds host memory that each rank of a host made for itself, such as a data set or a state dict.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/process/job_finding.h"

namespace memtrace::report {

// Takes one rank after the other, each while its analysis is open.
class RankCopies {
 public:
  // `own`: the findings about this process. Blocks that one of them explains are not copies.
  void add(ProcessAnalysis& analysis, const Findings& own);
  void add(RankCopies&& others); // Adds ranks that were collected apart.

  // Appends the findings `rank-copies`: at least two ranks of one host held blocks that one line of the program
  // made, at their peak or at the end. They are at least 64 MiB in each rank, and within 2 % of each other.
  // Blocks that every rank needs for itself do not count: see copied() in the source.
  void find(std::vector<JobFinding>& out) const;

 private:
  struct HeldByRank {
    std::uint32_t rank = 0;
    std::int64_t bytes = 0;
    std::uint64_t blocks = 0;
    std::string phase;       // in which the largest of them were made
    bool checkpoint = false; // read from a checkpoint
    bool model = false;      // read from a checkpoint as a model, which the rank freed after the load
    std::shared_ptr<const symbols::Site> site;
  };
  using Ranks = std::vector<HeldByRank>;
  using Hosts = std::map<std::string, Ranks>; // the key is a host's name

  static std::map<std::string, HeldByRank> held_at(ProcessAnalysis& analysis, const replay::Holdings& alive,
                                                   const Findings& own);
  static Ranks most_alike(Ranks ranks);
  static JobFinding finding_of(const std::string& line,
                               const std::vector<std::pair<std::string, Ranks>>& hosts);

  std::map<std::string, Hosts> lines_;        // the key is a line of the program
  std::map<std::string, std::int64_t> peaks_; // of all ranks of a host, added
};

} // namespace memtrace::report
