// Purpose: thresholds, the pace of reading, and numbers in files of the kernel.
#include "analyzer/watch/memory_limit.h"
#include "analyzer/watch/kernel_file.h"
#include "analyzer/watch/look_pace.h"

#include <gtest/gtest.h>

namespace memtrace::watch {
namespace {

TEST(Threshold, IsAShareOrWhatIsLeft) {
  EXPECT_EQ(threshold_of("90%")->level(1000), 900u);
  EXPECT_EQ(threshold_of("92.5%")->level(1000), 925u);
  EXPECT_EQ(threshold_of("1048576")->level(4 << 20), 3u << 20);
  EXPECT_EQ(threshold_of("4G")->level(std::uint64_t{16} << 30), std::uint64_t{12} << 30);
  EXPECT_EQ(threshold_of("4G")->level(std::uint64_t{1} << 30), 0u) << "a limit below it is always near";
}

TEST(Threshold, RefusesOtherTexts) {
  for (const char* const text : {"", "%", "0", "0%", "100%", "101%", "-1%", "nan%", "inf%", "9e1%", "90 %",
                                 "90%%", "90", "1023K", "4GB", "1.5G", "G", " 90%", "0x10"})
    EXPECT_FALSE(threshold_of(text)) << text;
}

TEST(LookPause, FollowsTheDistance) {
  constexpr std::uint64_t kGiB = 1 << 30;
  EXPECT_EQ(look_pause(~std::uint64_t{0}, 0), kLongestLookNs);
  EXPECT_EQ(look_pause(0, 0), kShortestLookNs);
  // What may be filled until the next reading never exceeds the distance, down to the shortest pause.
  for (std::uint64_t left = kGiB; left > kShortestLookNs * kFastestGrowth; left /= 3)
    EXPECT_LE(look_pause(left, 0) * kFastestGrowth, left);
  EXPECT_EQ(look_pause(0, 50'000), 5'000'000u) << "a hundredth of the time";
}

TEST(NumberAfter, TakesTheWholeKey) {
  constexpr std::string_view kText = "file 12\nfile_dirty 3\nMemTotal:       16 kB\ninactive_file 5\n";
  EXPECT_EQ(number_after(kText, "file"), 12u);
  EXPECT_EQ(number_after(kText, "file_dirty"), 3u);
  EXPECT_EQ(number_after(kText, "MemTotal"), 16u);
  EXPECT_FALSE(number_after(kText, "dirty"));
  EXPECT_FALSE(number_after("", "file"));
  EXPECT_FALSE(number_after("file", "file"));
  EXPECT_FALSE(number_after("file max", "file"));
}

} // namespace
} // namespace memtrace::watch
