// Purpose: finds a rank that holds more than the other ranks, and what makes the difference.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/trace/coordinates.h"

namespace memtrace::report {

// A row of a rank's peak that is larger than that row is in the other ranks.
struct OutlierRow {
  std::string role;
  std::string title;
  std::int64_t here = 0, there = 0;          // bytes of the rank, and the median of the other ranks
  std::shared_ptr<const symbols::Site> site; // null: the row has no site
};

struct Outlier {
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
  trace::Coordinates coordinates;
  bool of_stage = false; // the other ranks are those of its pipeline stage, not all of the job
  std::string memory;
  std::int64_t bytes =
      0; // at its peak: live bytes of the host without untouched reservations, tensors of a GPU
  std::string phase;
  replay::Step step = replay::Step::none;
  std::size_t others = 0;
  std::int64_t least = 0, median = 0, most = 0; // of the other ranks, each at its own peak
  std::uint32_t typical = 0;                    // a rank with that median
  std::vector<OutlierRow> rows; // the largest differences, at most three; empty: no row is larger
};

// Collects one process after the other, each while its analysis is open.
class Ranks {
 public:
  void add(ProcessAnalysis& analysis);
  void add(Ranks&& others); // Adds ranks that were collected apart.

  // Returns at most one outlier of the host and one of the GPUs for each pipeline stage; ranks of other stages
  // hold other parts of the model. An outlier exceeds the median of the other ranks of its stage by 64 MiB and
  // by a tenth, and by twice the spread of the other ranks. The largest difference is first.
  std::vector<Outlier> outliers() const;

 private:
  struct Rank {
    std::uint32_t rank = 0;
    std::uint32_t pid = 0;
    trace::Coordinates coordinates;
    std::string memory;
    replay::Peak peak;
    std::string phase;
    std::map<std::string, OutlierRow> rows; // by role and site; `there` is not set
  };

  void add(ProcessAnalysis& analysis, replay::MemoryId memory, std::vector<Rank>& to);
  static std::optional<Outlier> outlier(const std::vector<const Rank*>& ranks);
  static std::vector<OutlierRow> larger_rows(const Rank& one, const std::vector<const Rank*>& others);

  std::vector<Rank> host_, cards_;
};

} // namespace memtrace::report
