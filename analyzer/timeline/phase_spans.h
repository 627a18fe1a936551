// Purpose: the phases of a run as spans of time, in a bounded number.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/replay/phase_tracker.h"

namespace memtrace::replay {

struct PhaseSpan {
  PathId path{};
  Step step = Step::none;
  format::Stamp start = 0, end = 0;
  OccurrenceId id{};
};

// If there are too many spans, the shortest ones are dropped: at the scale of the whole run, they cannot be
// seen.
class PhaseSpans {
 public:
  explicit PhaseSpans(std::size_t most) : most_(most) {}

  void began(const Occurrence& occurrence, format::Stamp stamp);
  void ended(const Occurrence& occurrence, format::Stamp stamp);
  // Ends what is open.
  void close(format::Stamp stamp);

  const std::vector<PhaseSpan>& spans() const { return spans_; }
  // Returns the length in ns from which every span is there.
  format::Stamp all_from() const { return least_; }

 private:
  void add(const PhaseSpan& span);

  std::size_t most_;
  format::Stamp least_ = 0;
  std::unordered_map<OccurrenceId, PhaseSpan> open_;
  std::vector<PhaseSpan> spans_;
};

} // namespace memtrace::replay
