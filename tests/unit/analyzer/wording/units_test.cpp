// Purpose: sizes, times and numbers as people read them.
#include "analyzer/wording/units.h"

#include <gtest/gtest.h>

namespace memtrace::report {
namespace {

TEST(Units, AreAsPeopleReadThem) {
  EXPECT_EQ(size(242276352), "231.05 MiB");
  EXPECT_EQ(size(13843441408), "12.89 GiB");
  EXPECT_EQ(gigabytes(13843441408), "13.84 GB");
  EXPECT_EQ(count(6921720704), "6,921,720,704");
  EXPECT_EQ(count(12), "12");
  EXPECT_EQ(duration(0.0411), "41 ms");
  EXPECT_EQ(signed_in_unit(-(1 << 20), unit_for(0)), "-1.00");
  EXPECT_EQ(signed_in_unit(100, unit_for(0)), "0.00");
}

} // namespace
} // namespace memtrace::report
