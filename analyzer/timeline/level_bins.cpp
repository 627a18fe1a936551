// Purpose: the whole run in a bounded number of bins, each with the highest level of every lane.
#include "analyzer/timeline/level_bins.h"

#include <algorithm>

namespace memtrace::replay {

void LevelBins::add(trace::Ordinal at, format::Stamp stamp, const Blocks& blocks,
                    const std::vector<std::int64_t>& levels) {
  if (bins_.empty() || gap_ || bins_.back().changes >= full_) begin(at, stamp, levels);
  Bin& bin = bins_.back();
  bin.last = at;
  bin.end = std::max(bin.end, stamp);
  bin.births += blocks.births;
  bin.blocks += blocks.births + blocks.deaths;
  ++bin.changes;
  LaneBin* const values = &values_[(bins_.size() - 1) * lanes_];
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    LaneBin& value = values[lane];
    if (levels[lane] > value.max) value = {levels[lane], at, bin.end, value.min, value.last};
    value.min = std::min(value.min, levels[lane]);
    value.last = levels[lane];
  }
}

void LevelBins::begin(trace::Ordinal at, format::Stamp stamp, const std::vector<std::int64_t>& levels) {
  if (bins_.size() == most_) halve();
  const format::Stamp start = bins_.empty() ? stamp : std::max(stamp, bins_.back().end);
  bins_.push_back({at, at, start, start, 0, 0, 0, gap_});
  gap_ = false;
  for (const std::int64_t level : levels) values_.push_back({level, at, start, level, level});
}

// Joins each two bins. The two sides of a gap stay apart.
void LevelBins::halve() {
  std::size_t to = 0;
  for (std::size_t from = 0; from < bins_.size(); ++to) {
    bins_[to] = bins_[from];
    std::copy_n(&values_[from * lanes_], lanes_, &values_[to * lanes_]);
    ++from;
    if (from == bins_.size() || bins_[from].after_gap) continue;
    join(to, from);
    ++from;
  }
  bins_.resize(to);
  values_.resize(to * lanes_);
  full_ *= 2;
}

void LevelBins::join(std::size_t into, std::size_t from) {
  Bin& bin = bins_[into];
  const Bin& later = bins_[from];
  bin.last = later.last;
  bin.end = later.end;
  bin.births += later.births;
  bin.blocks += later.blocks;
  bin.changes += later.changes;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    LaneBin& value = values_[into * lanes_ + lane];
    const LaneBin& next = values_[from * lanes_ + lane];
    const std::int64_t min = std::min(value.min, next.min);
    if (next.max > value.max) value = next;
    value.min = min;
    value.last = next.last;
  }
}

} // namespace memtrace::replay
