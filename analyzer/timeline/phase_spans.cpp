// Purpose: the phases of a run as spans of time, in a bounded number.
#include "analyzer/timeline/phase_spans.h"

#include <algorithm>

namespace memtrace::replay {

void PhaseSpans::began(const Occurrence& occurrence, format::Stamp stamp) {
  open_[occurrence.id] = {occurrence.path, occurrence.step, stamp, stamp, occurrence.id};
}

void PhaseSpans::ended(const Occurrence& occurrence, format::Stamp stamp) {
  const auto at = open_.find(occurrence.id);
  if (at == open_.end()) return;
  at->second.end = std::max(stamp, at->second.start);
  add(at->second);
  open_.erase(at);
}

void PhaseSpans::close(format::Stamp stamp) {
  for (auto& [id, span] : open_) {
    span.end = std::max(stamp, span.start);
    add(span);
  }
  open_.clear();
  std::sort(spans_.begin(), spans_.end(), [](const PhaseSpan& a, const PhaseSpan& b) {
    return a.start != b.start ? a.start < b.start : a.id < b.id;
  });
}

void PhaseSpans::add(const PhaseSpan& span) {
  if (span.end - span.start < least_) return;
  spans_.push_back(span);
  while (spans_.size() > most_) {
    least_ = std::max<format::Stamp>(1, least_ * 2);
    std::erase_if(spans_, [this](const PhaseSpan& one) { return one.end - one.start < least_; });
  }
}

} // namespace memtrace::replay
