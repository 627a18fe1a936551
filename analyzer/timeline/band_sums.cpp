// Purpose: the bands of every bin at its highest instant, by one addition at the birth of a block and one at
// its death.
#include "analyzer/timeline/band_sums.h"

#include <algorithm>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {

BandSums::BandSums(const LevelBins& bins, const std::vector<Lane>& lanes) : bins_(bins.bins().size()) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    LaneSums sums{lanes[i], lanes[i].memory != 0 && lanes[i].measure == Measure::live, {}, {}};
    for (std::size_t bin = 0; bin < bins_; ++bin) sums.tops.push_back(bins.of(bin, i).max_at);
    sums.change.assign(kBands * bins_, 0);
    lanes_.push_back(std::move(sums));
  }
}

std::uint64_t BandSums::bytes(const LaneSums& sums, const Block& block, Band band) {
  if (!sums.device_live) return bytes_in(sums.lane, block);
  if (block.memory != sums.lane.memory || block.sampled) return 0;
  if (block.tensor) return block.tensor_bytes();
  return block.counted && band != Band::cache ? block.given : 0;
}

void BandSums::add(const Block& block, Band band, std::uint64_t reserved, trace::Ordinal birth,
                   trace::Ordinal death) {
  for (LaneSums& sums : lanes_) {
    const std::uint64_t of_block = bytes(sums, block, band);
    const std::uint64_t unused = sums.lane.measure == Measure::live ? std::min(reserved, of_block) : 0;
    add(sums, band, of_block - unused, birth, death);
    add(sums, Band::reserved, unused, birth, death);
  }
}

void BandSums::add(LaneSums& sums, Band band, std::uint64_t bytes, trace::Ordinal birth,
                   trace::Ordinal death) const {
  if (bytes == 0) return;
  const auto first = std::lower_bound(sums.tops.begin(), sums.tops.end(), birth);
  const auto end = std::lower_bound(first, sums.tops.end(), death);
  if (first == end) return;
  std::int64_t* const changes = &sums.change[static_cast<std::size_t>(band) * bins_];
  std::int64_t& rise = changes[first - sums.tops.begin()];
  rise = wrapping_add(rise, bytes);
  if (end == sums.tops.end()) return;
  std::int64_t& fall = changes[end - sums.tops.begin()];
  fall = wrapping_sub(fall, bytes);
}

std::vector<std::int64_t> BandSums::take(const LevelBins& bins) {
  std::vector<std::int64_t> out;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    std::vector<std::int64_t> sums = std::move(lanes_[lane].change);
    std::vector<std::int64_t> known(bins_);
    for (std::size_t band = 0; band < kBands; ++band) {
      std::int64_t now = 0;
      for (std::size_t bin = 0; bin < bins_; ++bin) {
        now = wrapping_add(now, sums[band * bins_ + bin]);
        sums[band * bins_ + bin] = now;
        known[bin] = wrapping_add(known[bin], now);
      }
    }
    const Band rest = lanes_[lane].device_live ? Band::cache : Band::unattributed;
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      std::int64_t& last = sums[static_cast<std::size_t>(rest) * bins_ + bin];
      last = wrapping_add(last, wrapping_sub(bins.of(bin, lane).max, known[bin]));
    }
    out.insert(out.end(), sums.begin(), sums.end());
  }
  return out;
}

} // namespace memtrace::replay
