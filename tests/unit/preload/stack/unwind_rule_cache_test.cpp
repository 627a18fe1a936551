// Purpose: a rule that was kept is the rule that the tables say, whatever came before it and however many there
// are.
#include "preload/stack/unwind_rule_cache.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "preload/stack/loaded_modules.h"

namespace memtrace::record {
namespace {

class FrameRules : public testing::Test {
 protected:
  void SetUp() override {
    find_modules_by("");
    ASSERT_TRUE(frame_rules_are_open() || open_frame_rules());
    forget_frame_rules();
    libc = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "qsort"));
  }
  FrameRule told(std::uint64_t address) {
    FrameRule rule{};
    find_frame_rule(address, &rule);
    return rule;
  }
  std::uint64_t libc = 0;
};

TEST_F(FrameRules, AreThoseOfTheTables) {
  for (int pass = 0; pass < 3; ++pass) { // read, followed, and sought from elsewhere
    std::uint32_t place = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::uint64_t address = libc + (pass == 2 ? 2999 - i : i);
      ASSERT_EQ(frame_rule(address, place), told(address)) << address - libc << " in pass " << pass;
    }
  }
}

TEST_F(FrameRules, MoreThanThereIsRoomFor) {
  std::uint32_t place = 0;
  int some = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const FrameRule rule = frame_rule(libc + i, place);
    ASSERT_EQ(rule, told(libc + i)) << i;
    some += rule.cfa != FrameRule::Cfa::none;
  }
  EXPECT_GT(some, 50'000);
}

TEST_F(FrameRules, NothingIsKeptOfWhatNoObjectHolds) {
  std::uint32_t place = 0;
  EXPECT_EQ(frame_rule(16, place).cfa, FrameRule::Cfa::none);
  EXPECT_EQ(place, 0u);
}

TEST_F(FrameRules, NoRuleForWhatIsNoCode) {
  static int data;
  FrameRule rule{};
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_FALSE(find_frame_rule(reinterpret_cast<std::uint64_t>(page) + 8, &rule));
  EXPECT_FALSE(find_frame_rule(0, &rule));
  EXPECT_TRUE(find_frame_rule(reinterpret_cast<std::uint64_t>(&data), &rule)) << "of an object, but not code";
  EXPECT_EQ(rule.cfa, FrameRule::Cfa::none);
}

} // namespace
} // namespace memtrace::record
