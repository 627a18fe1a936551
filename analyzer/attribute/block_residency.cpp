// Purpose: how many bytes of each large block were resident, and in which phase they became resident.
// That may be long after the birth of the block.
#include "analyzer/attribute/block_residency.h"

#include <algorithm>

namespace memtrace::replay {

void Touches::look(trace::Ordinal at, std::uint64_t resident, PathId path, Step step) {
  const std::uint64_t before = looks_.empty() ? resident : looks_.back().second;
  looks_.push_back({at, resident});
  if (resident <= before) return;
  late_ += resident - before;
  if (resident - before <= most_) return;
  most_ = resident - before;
  path_ = path;
  step_ = step;
}

std::uint64_t Touches::resident(trace::Ordinal at) const {
  const auto look = std::lower_bound(looks_.begin(), looks_.end(), at,
                                     [](const auto& one, trace::Ordinal wanted) { return one.first < wanted; });
  return look != looks_.end() ? look->second : looks_.back().second;
}

void Touched::moved(format::Stamp stamp, PathId path, Step step) {
  if (stays_.back().path == path && stays_.back().step == step) return;
  if (stays_.size() == kStays) stays_.pop_front();
  stays_.push_back({stamp, path, step});
}

const Touched::Stay& Touched::longest(format::Stamp from, format::Stamp to) const {
  const Stay* best = &stays_.back();
  format::Stamp most = 0;
  for (std::size_t i = stays_.size(); i-- > 0 && to > from;) {
    const format::Stamp begin = std::max(stays_[i].from, from);
    if (to > begin && to - begin > most) {
      most = to - begin;
      best = &stays_[i];
    }
    to = std::min(to, stays_[i].from);
  }
  return *best;
}

void Touched::look(const trace::Event& event) {
  const auto touched = event.as<format::SampleTouchedEvent>();
  const Stay& stay = longest(touched.looked_before, event.stamp);
  const std::uint64_t resident = std::min(touched.resident, touched.given);
  blocks_[{touched.address, touched.birth}].look(event.ordinal, resident, stay.path, stay.step);
}

const Touches* Touched::of(std::uint64_t address, format::Stamp birth) const {
  if (blocks_.empty()) return nullptr;
  const auto at = blocks_.find({address, birth});
  return at == blocks_.end() ? nullptr : &at->second;
}

} // namespace memtrace::replay
