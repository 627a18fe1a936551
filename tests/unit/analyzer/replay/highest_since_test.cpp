// Purpose: the highest since each of many instants is what a look at all of them finds, and few values are
// kept.
#include "analyzer/replay/highest_since.h"
#include "tests/unit/seed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <utility>

namespace memtrace::replay {
namespace {

constexpr auto kSelf = [](std::int64_t value) { return value; };
using Levels = HighestSince<std::int64_t, kSelf>;

// One peak for each open phase, raised by every event: what took the product of phases and events.
class Plain {
 public:
  void begin(trace::Ordinal at) { peaks_[at] = {-1, 0}; }
  void raise(std::int64_t value, trace::Ordinal at) {
    for (auto& [from, peak] : peaks_)
      if (value > peak.first) peak = {value, at};
  }
  std::map<trace::Ordinal, std::pair<std::int64_t, trace::Ordinal>> peaks_;
};

TEST(HighestSince, IsWhatALookAtEachPhaseFinds) {
  std::mt19937 random(tests::seed(5));
  for (int run = 0; run < 200; ++run) {
    Levels levels;
    Plain plain;
    for (trace::Ordinal now = 1; now < 120; ++now) {
      const unsigned what = random() % 8;
      if (what < 2) {
        levels.begin();
        plain.begin(now);
      } else if (what == 2 && !plain.peaks_.empty()) {
        plain.peaks_.erase(
            std::next(plain.peaks_.begin(), static_cast<std::ptrdiff_t>(random() % plain.peaks_.size())));
      } else if (what == 3) {
        std::vector<trace::Ordinal> open;
        for (const auto& [from, peak] : plain.peaks_) open.push_back(from);
        levels.keep(open);
        EXPECT_LE(levels.size(), open.size());
      } else {
        const std::int64_t value = random() % 10;
        levels.raise(value, now);
        plain.raise(value, now);
      }
      for (const auto& [from, peak] : plain.peaks_) {
        const auto* const high = levels.since(from);
        ASSERT_EQ(high == nullptr, peak.first < 0);
        if (high == nullptr) continue;
        ASSERT_EQ(high->value, peak.first);
        ASSERT_EQ(high->at, peak.second);
      }
    }
  }
}

TEST(HighestSince, KeepsNoMoreValuesThanPhasesBegan) {
  Levels levels;
  levels.begin();
  for (trace::Ordinal now = 1; now <= 100'000; ++now)
    levels.raise(1'000'000 - static_cast<std::int64_t>(now), now);
  EXPECT_EQ(levels.size(), 1u);
  for (trace::Ordinal now = 100'001; now <= 100'100; ++now) {
    levels.begin();
    levels.raise(1'000'000 - static_cast<std::int64_t>(now), now);
  }
  EXPECT_EQ(levels.size(), 101u);
}

} // namespace
} // namespace memtrace::replay
