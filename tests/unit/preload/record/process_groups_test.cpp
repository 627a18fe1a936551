// Purpose: tests the names of process groups, and the blocks that wait for them.
#include "preload/record/process_groups.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstdint>
#include <string>
#include <thread>

#include "child.h"
#include "preload/stack/python_frames.h"

namespace memtrace::record {
namespace {

using format::TextId;
using tests::in_child;

constexpr GroupKey kTp = 0x7F0000001000, kDp = 0x7F0000002000;
constexpr TextId kTpName{11}, kDpName{12};

GroupBlock block(std::uint64_t address, GroupKey group, TextId name = TextId{0}) {
  return {address, 4096, group, 1, name};
}

// Names the groups anew, and returns the labels that this gives: "ADDRESS=NAME ".
std::string rename_all(TextId tp, TextId dp) {
  forget_groups();
  name_group(kTp, tp);
  name_group(kDp, dp);
  std::string said;
  for (GroupBlock got{}; take_named_block(&got);)
    said += std::to_string(got.address) + "=" + std::to_string(static_cast<std::uint32_t>(got.name)) + " ";
  return said;
}

TEST(ProcessGroups, NamesAreForgottenTogether) {
  in_child([] {
    name_group(kTp, kTpName);
    name_group(0, kDpName);
    EXPECT_EQ(name_of_group(kTp), kTpName);
    EXPECT_EQ(name_of_group(0), TextId{0});
    EXPECT_EQ(name_of_group(kDp), TextId{0});
    forget_groups();
    EXPECT_EQ(name_of_group(kTp), TextId{0}) << "its object may have died";
  });
}

TEST(ProcessGroups, BlocksWaitForTheNameOfTheirGroup) {
  in_child([] {
    EXPECT_FALSE(has_new_group_blocks());
    keep_group_block(block(1, kTp));
    keep_group_block(block(2, kDp));
    keep_group_block(block(3, kTp));
    EXPECT_TRUE(has_new_group_blocks());
    forget_group_block(3, 2);
    forget_group_block(1, 1);
    EXPECT_EQ(rename_all(kTpName, TextId{0}), "3=11 ") << "block 1 died, group dp has no name yet";
    EXPECT_FALSE(has_new_group_blocks()) << "only a new block asks for names";
    EXPECT_EQ(rename_all(kTpName, kDpName), "2=12 ");
    EXPECT_EQ(rename_all(kTpName, kDpName), "");
  });
}

// A group was destroyed, and a new one has its address: until the groups are named again, its blocks have the
// old name.
TEST(ProcessGroups, ABlockThatWasNamedTooEarlyIsNamedAgain) {
  in_child([] {
    rename_all(kTpName, kDpName);
    keep_group_block(block(1, kTp, name_of_group(kTp)));
    keep_group_block(block(2, kDp, name_of_group(kDp)));
    EXPECT_EQ(rename_all(TextId{13}, kDpName), "1=13 ");
    EXPECT_EQ(rename_all(TextId{14}, kDpName), "") << "block 1 belongs to the group that was there then";
  });
}

TEST(ProcessGroups, FullTablesGiveNoNameAndNoWrongOne) {
  in_child([] {
    for (std::uint64_t i = 1; i <= 2000; ++i) keep_group_block(block(i, kTp));
    for (std::uint64_t i = 1; i <= 2000; ++i) name_group(i * 16, TextId{static_cast<std::uint32_t>(i)});
    for (std::uint64_t i = 1; i <= 2000; ++i) {
      const auto name = static_cast<std::uint32_t>(name_of_group(i * 16));
      EXPECT_TRUE(name == 0 || name == i) << i;
    }
    rename_all(kTpName, kDpName);
    EXPECT_EQ(name_of_group(kTp), kTpName);
  });
}

TEST(ProcessGroups, NoObjectHasTheKeyOfAName) {
  EXPECT_EQ(text_key("", 0) % 2, 1u);
  EXPECT_EQ(text_key("0", 1), text_key("0", 1));
  EXPECT_NE(text_key("0", 1), text_key("1", 1));
}

TEST(ProcessGroups, AThreadOfNoGroupHasNone) {
  in_child([] {
    EXPECT_FALSE(groups_are_used());
    const std::uint64_t handle = 0x7F0000009000;
    thread_was_made(&handle);
    const int code = 0;
    add_group_call(&code, 2);
    EXPECT_TRUE(groups_are_used());
    thread_was_made(&handle);
    EXPECT_EQ(group_of_this_thread(), 0u);
  });
}

// Calls on a new thread. If `set` is 0, asks only if the thread has `*pointer` as its pthread_t.
GroupKey on_thread(std::uint64_t* pointer, GroupKey set) {
  GroupKey got = 0;
  std::thread([&] {
    const auto self = static_cast<std::uint64_t>(pthread_self());
    if (set != 0) set_group_of_thread(self, set);
    if (self == *pointer || set != 0) got = group_of_this_thread();
    *pointer = self;
  }).join();
  return got;
}

TEST(ProcessGroups, AThreadHasTheGroupOfItsMaker) {
  in_child([] {
    const int code = 0;
    add_group_call(&code, 2);
    const auto self = static_cast<std::uint64_t>(pthread_self());
    std::uint64_t pointer = 0;
    EXPECT_EQ(on_thread(&pointer, kTp), kTp);
    const std::uint64_t first = pointer;
    EXPECT_EQ(on_thread(&pointer, 0), 0u) << "another thread, whose maker has not set its group yet";
    EXPECT_EQ(pointer, first) << "glibc did not reuse the stack, so the line above shows nothing";
    EXPECT_EQ(on_thread(&pointer, kDp), kDp) << "its maker has";
    set_group_of_thread(self, kTp);
    EXPECT_EQ(group_of_this_thread(), kTp);
    thread_was_made(&pointer);
    EXPECT_EQ(on_thread(&pointer, 0), kTp) << "its maker has no Python, and the group of its own maker";
    set_group_of_thread(self, 0);
    EXPECT_EQ(group_of_this_thread(), 0u);
    for (std::uint64_t i = 1; i < 2000; ++i) set_group_of_thread(i * 64, kTp);
    EXPECT_EQ(group_of_this_thread(), 0u);
  });
}

TEST(ProcessGroups, AThreadMayHaveFreedItsHandle) {
  in_child([] {
    const int code = 0;
    add_group_call(&code, 2);
    void* const freed = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(freed, 4096);
    set_group_of_thread(static_cast<std::uint64_t>(pthread_self()), kTp);
    ASSERT_EQ(group_of_this_thread(), kTp);
    thread_was_made(freed);
  });
}

} // namespace
} // namespace memtrace::record
