// Purpose: the rank that holds more than the others, and what of it they have not.
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
  std::int64_t bytes = 0; // at its peak: live of the host, tensors of a card
  std::string phase;
  replay::Step step = replay::Step::none;
  std::size_t others = 0;
  std::int64_t least = 0, median = 0, most = 0; // of the others, each at its own peak
  // What makes most of the difference.
  std::string role;
  std::string title;
  std::int64_t here = 0, there = 0;          // bytes: of the rank, and the median of the others
  std::shared_ptr<const symbols::Site> site; // null: none
};

// Takes one process after the other, each while its analysis is open.
class Ranks {
 public:
  void add(ProcessAnalysis& analysis);

  // One of host and one of cards at most: who has 64 MiB and a tenth more than half of the others have, and is
  // twice as far from them as they are from each other.
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
    std::map<std::string, OutlierRow> rows; // by role and place
  };

  void add(ProcessAnalysis& analysis, replay::MemoryId memory, std::vector<Rank>& to);
  static std::optional<Outlier> outlier(const std::vector<Rank>& ranks);

  std::vector<Rank> host_, cards_;
};

} // namespace memtrace::report
