// Purpose: finds a rank that holds more than the other ranks, and what makes the difference.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

struct Outlier {
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
  std::string memory;
  std::int64_t bytes =
      0; // at its peak: live bytes of the host without untouched reservations, tensors of a GPU
  std::string phase;
  replay::Step step = replay::Step::none;
  std::size_t others = 0;
  std::int64_t least = 0, median = 0, most = 0; // of the other ranks, each at its own peak
  // The row with the largest difference.
  std::string role;
  std::string title;
  std::int64_t here = 0, there = 0;          // bytes of the rank, and the median of the other ranks
  std::shared_ptr<const symbols::Site> site; // null: the row has no site
};

// Collects one process after the other, each while its analysis is open.
class Ranks {
 public:
  void add(ProcessAnalysis& analysis);

  // Returns at most one outlier of the host and one of the GPUs. An outlier exceeds the median of the other
  // ranks by 64 MiB and by a tenth, and by twice the spread of the other ranks.
  std::vector<Outlier> outliers() const;

 private:
  struct OutlierRow {
    std::string role;
    std::string title;
    std::int64_t bytes = 0;
    std::shared_ptr<const symbols::Site> site;
  };
  struct Rank {
    std::uint32_t rank = 0;
    std::uint32_t pid = 0;
    std::string memory;
    replay::Peak peak;
    std::string phase;
    std::map<std::string, OutlierRow> rows; // by role and site
  };

  void add(ProcessAnalysis& analysis, replay::MemoryId memory, std::vector<Rank>& to);
  static std::optional<Outlier> outlier(const std::vector<Rank>& ranks);

  std::vector<Rank> host_, cards_;
};

} // namespace memtrace::report
