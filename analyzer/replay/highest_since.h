// Purpose: the highest value of a level since each of many instants, without work for each instant at every
// event.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "analyzer/trace/event_merger.h"

namespace memtrace::replay {

// A value and the event after which it was reached. Values are compared by `bytes_of(value)`.
template <typename Value>
struct High {
  Value value{};
  trace::Ordinal at = 0;
};

// Every open phase has a peak. When every birth raised one peak per open phase, 40,000 threads in a phase took
// 12 s. So this class retains the values that no later value exceeds, which fall from the oldest to the newest.
// Between two begins, only the first of the highest values can be an answer. So there are at most as many
// values as begins.
template <typename Value, auto bytes_of>
class HighestSince {
 public:
  // Records that a phase began: the values from now on are separate from those before.
  void begin() { begun_ = true; }

  void raise(const Value& value, trace::Ordinal at) {
    if (!begun_ && (highs_.empty() || bytes_of(value) <= bytes_of(highs_.back().value))) return;
    record(value, at);
  }

  // Returns the highest value that was raised after event `from`, and the first one if several are equal.
  // Returns null if there was none.
  const High<Value>* since(trace::Ordinal from) const {
    if (highs_.empty() || highs_.back().at <= from) return nullptr;
    if (highs_.size() == 1 || highs_[highs_.size() - 2].at <= from)
      return &highs_.back(); // the phase that began last
    return &*std::upper_bound(highs_.begin(), highs_.end(), from,
                              [](trace::Ordinal wanted, const High<Value>& high) { return wanted < high.at; });
  }

  std::size_t size() const { return highs_.size(); }

  // Drops the values that no later query needs. `from`: the instants of these queries, ascending.
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
  // Separate from `raise`, which every birth calls and which mostly ends at once.
  [[gnu::noinline]] void record(const Value& value, trace::Ordinal at) {
    bool covered = false; // an instant before this event needs this value
    while (!highs_.empty() && bytes_of(highs_.back().value) < bytes_of(value)) {
      highs_.pop_back();
      covered = true;
    }
    if (begun_ || covered) highs_.push_back({value, at});
    begun_ = false;
  }

  std::vector<High<Value>> highs_;
  bool begun_ = false; // a phase began since the last value
};

} // namespace memtrace::replay
