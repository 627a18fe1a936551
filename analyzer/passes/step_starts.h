// Purpose: when the last steps of a process began.
#pragma once

#include <cstddef>
#include <deque>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

struct StepStart {
  Step step = Step::none;
  format::Stamp stamp = 0;
};

// Observes a whole pass.
class StepStarts : public SideObserver {
 public:
  static constexpr std::size_t kMost = 256; // the last ones

  void after(const trace::Event& event, const PhasePosition& place) override;

  std::deque<StepStart> take() { return std::move(starts_); }

 private:
  std::deque<StepStart> starts_;
};

} // namespace memtrace::replay
