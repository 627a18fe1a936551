// Purpose: the bands of every bin at its highest instant, by one addition at the birth of a block and one at
// its death.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/timeline/band.h"
#include "analyzer/timeline/level_bins.h"

namespace memtrace::replay {

class BandSums {
 public:
  BandSums(const LevelBins& bins, const std::vector<Lane>& lanes);

  // Adds a block that was alive after the events from `birth` until before `death`. `reserved`: its bytes that
  // were never touched, which have a band of their own in `live`.
  void add(const Block& block, Band band, std::uint64_t reserved, trace::Ordinal birth, trace::Ordinal death);

  // Returns the bytes by lane, band and bin. The last step completes each bin to its highest level: by `cache`
  // in the `live` of a GPU with tensors, else by `small`.
  std::vector<std::int64_t> take(const LevelBins& bins);

 private:
  struct LaneSums {
    Lane lane;
    bool device_live = false;         // `live` of a GPU: tensors count instead of the segments that have them
    std::vector<trace::Ordinal> tops; // by bin: its highest instant
    std::vector<std::int64_t> change; // by band and bin: the difference to the bin before
  };
  static std::uint64_t bytes(const LaneSums& sums, const Block& block, Band band);
  void add(LaneSums& sums, Band band, std::uint64_t bytes, trace::Ordinal birth, trace::Ordinal death) const;

  std::size_t bins_;
  std::vector<LaneSums> lanes_;
};

} // namespace memtrace::replay
