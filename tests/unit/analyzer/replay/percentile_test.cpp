// Purpose: tests that a percentile and a median are values that occurred, the lower one of two.
#include "analyzer/replay/percentile.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace memtrace::replay {
namespace {

TEST(Percentile, MedianIsTheLowerOfTheTwoMiddleValues) {
  EXPECT_EQ(median<int>({7}), 7);
  EXPECT_EQ(median<int>({9, 2}), 2);
  EXPECT_EQ(median<int>({5, 1, 9}), 5);
  EXPECT_EQ(median<int>({4, 1, 3, 2}), 2);
}

TEST(Percentile, IsAValueThatOccurred) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 100; i >= 0; --i) values.push_back(i);
  EXPECT_EQ(percentile(values, 0), 0);
  EXPECT_EQ(percentile(values, 90), 90);
  EXPECT_EQ(percentile(values, 100), 100);
  EXPECT_EQ(percentile<int>({10, 20, 30}, 90), 20) << "1.8 is rounded down to 1";
}

} // namespace
} // namespace memtrace::replay
