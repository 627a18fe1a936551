// Purpose: names of ranges are kept once, whatever they are given as.
#include "cupti/nvtx_names.h"

#include <gtest/gtest.h>

#include <string>

namespace memtrace::cupti::nvtx {
namespace {

TEST(NvtxNames, TheSameTextIsTheSameName) {
  const Name* const name = name_of("forward");
  ASSERT_NE(name, nullptr);
  EXPECT_EQ(name_of(std::string("forward").c_str()), name);
  EXPECT_EQ(name_of(L"forward"), name);
  EXPECT_NE(name_of("backward"), name);
  EXPECT_STREQ(name->text, "forward");
  EXPECT_EQ(name_of_handle(name), name);
}

TEST(NvtxNames, WideTextBecomesUtf8) {
  EXPECT_STREQ(name_of(L"\u00e9\u20ac\U0001F600")->text, "\u00e9\u20ac\U0001F600");
}

TEST(NvtxNames, NoNameAndForeignHandles) {
  EXPECT_EQ(name_of(""), nullptr);
  EXPECT_EQ(name_of(static_cast<const char*>(nullptr)), nullptr);
  EXPECT_EQ(name_of_handle(nullptr), nullptr);
  int mine = 0;
  EXPECT_EQ(name_of_handle(&mine), nullptr);
}

TEST(NvtxNames, LongOnesAreCutAndThereIsAnEnd) {
  EXPECT_EQ(name_of(std::string(1000, 'x').c_str())->bytes, kMaxName);
  unsigned kept = 0;
  for (int i = 0; i < 5000; ++i) kept += name_of(("op " + std::to_string(i)).c_str()) != nullptr;
  EXPECT_GT(kept, 1000u);
  EXPECT_LT(kept, 3000u);
  EXPECT_NE(name_of("op 0"), nullptr); // those that are there are found
}

} // namespace
} // namespace memtrace::cupti::nvtx
