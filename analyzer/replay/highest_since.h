// Purpose: the highest of a level since each of many instants, without a look at each instant for every event.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "analyzer/trace/event_merger.h"

namespace memtrace::replay {

// A value and the event after which it was so. `Value` is compared by `bytes_of(value)`.
template <typename Value>
struct High {
  Value value{};
  trace::Ordinal at = 0;
};

// Every open phase has a peak. With one peak for each that all births raise, 40,000 threads in a phase took 12
// s. What is kept instead are the values that no later one exceeds, falling from the oldest to the newest. Of
// those between two begins only the first of the highest can be an answer, so there are at most as many as
// begins.
template <typename Value, auto bytes_of>
class HighestSince {
 public:
  // A phase began: what is raised from now on is told apart from what came before.
  void begin() { begun_ = true; }

  void raise(const Value& value, trace::Ordinal at) {
    if (!begun_ && (highs_.empty() || bytes_of(value) <= bytes_of(highs_.back().value))) return;
    record(value, at);
  }

  // The highest of what was raised after event `from`, and the first such. Null: nothing was.
  const High<Value>* since(trace::Ordinal from) const {
    if (highs_.empty() || highs_.back().at <= from) return nullptr;
    if (highs_.size() == 1 || highs_[highs_.size() - 2].at <= from)
      return &highs_.back(); // the phase begun last
    return &*std::upper_bound(highs_.begin(), highs_.end(), from,
                              [](trace::Ordinal wanted, const High<Value>& high) { return wanted < high.at; });
  }

  std::size_t size() const { return highs_.size(); }

  // Forgets what none of `from` needs: the instants that will be asked for, ascending.
  template <typename Instants>
  void keep(const Instants& from) {
    std::vector<High<Value>> kept;
    auto high = highs_.begin();
    for (const trace::Ordinal instant : from) {
      while (high != highs_.end() && high->at <= instant) ++high;
      if (high == highs_.end()) break;
      if (kept.empty() || kept.back().at != high->at) kept.push_back(*high);
    }
    highs_ = std::move(kept);
  }

 private:
  // Apart from `raise`, which every birth calls and which mostly ends at once.
  [[gnu::noinline]] void record(const Value& value, trace::Ordinal at) {
    bool covered = false; // an instant lies before this event that needs it
    while (!highs_.empty() && bytes_of(highs_.back().value) < bytes_of(value)) {
      highs_.pop_back();
      covered = true;
    }
    if (begun_ || covered) highs_.push_back({value, at});
    begun_ = false;
  }

  std::vector<High<Value>> highs_;
  bool begun_ = false; // since the last value
};

} // namespace memtrace::replay
