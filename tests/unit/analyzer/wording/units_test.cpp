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
  EXPECT_EQ(duration(250), "4 min 10 s");
  EXPECT_EQ(duration(179.7), "3 min 0 s"); // not "2 min 60 s"
  EXPECT_EQ(duration(18'120), "5 h 2 min");
  EXPECT_EQ(duration(1'524'028), "17 d 15 h");
  EXPECT_EQ(signed_in_unit(-(1 << 20), unit_for(0)), "-1.00");
  EXPECT_EQ(signed_in_unit(100, unit_for(0)), "0.00");
}

} // namespace
} // namespace memtrace::report
