// Purpose: the bounded string.
#include "preload/bounded/fixed_string.h"

#include <gtest/gtest.h>

#include <string>

namespace memtrace::record {
namespace {

TEST(Line, KeepsWhatFits) {
  Line<8> line;
  EXPECT_STREQ(line.text(), "");
  line.add("abc").add("defg");
  EXPECT_STREQ(line.text(), "abcdefg");
  EXPECT_EQ(line.size(), 7u);
  EXPECT_FALSE(line.cut());
}

TEST(Line, CutsAndSaysSo) {
  Line<8> line;
  line.add("abcdefgh");
  EXPECT_STREQ(line.text(), "abcdefg");
  EXPECT_TRUE(line.cut());
  line.add("i");
  EXPECT_EQ(line.size(), 7u);
  EXPECT_EQ(line.text()[7], '\0');
  line.clear();
  EXPECT_FALSE(line.cut());
  EXPECT_STREQ(line.add("x").text(), "x");
}

TEST(Line, IsNotCutByNothing) {
  Line<4> line;
  line.add("abc").add("", 0);
  EXPECT_FALSE(line.cut());
}

TEST(Line, CountsBytesNotTerminators) {
  Line<16> line;
  line.add("a\0b", 3);
  EXPECT_EQ(std::string(line.text(), line.size()), std::string("a\0b", 3));
}

TEST(Line, Numbers) {
  Line<128> line;
  line.add(std::uint64_t{0})
      .add(" ")
      .add(std::uint64_t{1234567890})
      .add(" ")
      .add(std::uint64_t{0xDEADBEEF}, 16);
  line.add(" ").add(~std::uint64_t{0}).add(" ").add(~std::uint64_t{0}, 8);
  EXPECT_STREQ(line.text(), "0 1234567890 deadbeef 18446744073709551615 1777777777777777777777");
}

TEST(Line, Padded) {
  const auto padded = [](std::uint64_t value, std::size_t width) {
    Line<64> line;
    return std::string(line.padded(value, width).text());
  };
  EXPECT_EQ(padded(0, 1), "0");
  EXPECT_EQ(padded(0, 2), "00");
  EXPECT_EQ(padded(9, 2), "09");
  EXPECT_EQ(padded(10, 2), "10");
  EXPECT_EQ(padded(7, 4), "0007");
  EXPECT_EQ(padded(999, 4), "0999");
  EXPECT_EQ(padded(12345, 4), "12345");
}

} // namespace
} // namespace memtrace::record
