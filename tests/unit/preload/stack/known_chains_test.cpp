// Purpose: a chain is known only while each word that its walk read is unchanged.
#include "preload/stack/known_chains.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace memtrace::record {
namespace {

constexpr std::size_t kWords = 512;

// A stack that the test writes. The walk of it reads four return addresses and one address of the stack.
class KnownChains : public testing::Test {
 protected:
  void SetUp() override {
    static const bool opened = open_known_chains();
    ASSERT_TRUE(opened);
    drop_known_chains();
    lay(0x1000);
  }

  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(stack_.data()); }
  WalkStart start(std::size_t words = kWords) const {
    return {skip_, stop_, 40, base(), base() + words * 8, hint_};
  }
  // Puts the words of a chain whose return addresses begin at `code`.
  void lay(std::uint64_t code) {
    frames_ = {code, code + 1, code + 2};
    stack_[1] = code;
    stack_[20] = code + 1;
    stack_[60] = code + 2;
    stack_[100] = 0xABCD; // the interpreter's: read, and not shown
    stack_[58] = base() + 90 * 8;
  }
  // Does what a walk by rules does at its end. Returns true if the chain was added. `more`: words that it also
  // read.
  bool walk(std::size_t more = 0) {
    ReadWord* const words = begin_chain(start(), frames_.data(), frames_.size());
    if (words == nullptr) return false;
    words[0] = {stack_[1], 1, false, true};
    words[1] = {stack_[20], 20, false, true};
    words[2] = {stack_[58] - base(), 58, true, false};
    words[3] = {stack_[60], 60, false, true};
    words[4] = {stack_[100], 100, false, false};
    for (std::size_t i = 0; i < more; ++i)
      words[5 + i] = {stack_[110 + i], static_cast<std::uint32_t>(110 + i), false, false};
    end_chain(start(), 5 + more);
    return true;
  }
  bool is_known(std::size_t words = kWords) {
    std::array<std::uint64_t, 40> found{};
    known_ = known_chain(start(words), found.data());
    if (known_.stacks == nullptr) return false;
    const auto end = found.begin() + static_cast<std::ptrdiff_t>(known_.count);
    EXPECT_EQ(std::vector<std::uint64_t>(found.begin(), end), frames_);
    return true;
  }

  std::array<std::uint64_t, kWords> stack_{};
  std::vector<std::uint64_t> frames_;
  Frames known_{}; // the last chain that was asked for
  Range skip_{1, 2};
  Range stop_{0xABCD, 0xABCE};
  std::uint64_t hint_ = 7;
};

TEST_F(KnownChains, AreKnownFromTheirSecondWalkOn) {
  EXPECT_FALSE(is_known());
  EXPECT_FALSE(walk());
  EXPECT_FALSE(is_known());
  EXPECT_TRUE(walk());
  EXPECT_TRUE(is_known());
}

TEST_F(KnownChains, AreUnknownIfAnyWordThatTheWalkReadDiffers) {
  walk();
  ASSERT_TRUE(walk());
  for (const std::size_t place : {1, 20, 58, 60, 100}) {
    const std::uint64_t before = stack_[place];
    stack_[place] ^= 0x10;
    EXPECT_FALSE(is_known()) << place;
    stack_[place] = before;
    EXPECT_TRUE(is_known());
  }
  stack_[59] ^= 0x10; // no walk reads it
  EXPECT_TRUE(is_known());
}

TEST_F(KnownChains, OfOtherKindsAreUnknown) {
  walk();
  ASSERT_TRUE(walk());
  stop_ = {};
  EXPECT_FALSE(is_known());
  stop_ = {0xABCD, 0xABCE};
  EXPECT_TRUE(is_known());
}

TEST_F(KnownChains, AreNotReadBeyondTheReadableStack) {
  walk();
  ASSERT_TRUE(walk());
  EXPECT_FALSE(is_known(100)); // the word at 100 is the first beyond
  EXPECT_TRUE(is_known(101));
}

TEST_F(KnownChains, ThatBeginAlikeAreKnownBesideEachOther) {
  walk();
  ASSERT_TRUE(walk());
  stack_[60] = frames_[2] = 0x2002;
  EXPECT_FALSE(is_known());
  walk();
  ASSERT_TRUE(walk());
  EXPECT_TRUE(is_known());
  lay(0x1000);
  EXPECT_TRUE(is_known());
}

TEST_F(KnownChains, AreUnknownAfterAnUnload) {
  walk();
  ASSERT_TRUE(walk());
  forget_known_chains();
  EXPECT_FALSE(is_known());
  walk();
  EXPECT_TRUE(is_known());
}

TEST_F(KnownChains, KeepTheirStacksUntilTheyAreForgotten) {
  ASSERT_TRUE(walk() || walk());
  ASSERT_TRUE(is_known());
  const Frames before = known_;
  const StackHash hash{7, 8ull << 32 | 9};
  EXPECT_EQ(before.stacks->id_of(hash), format::StackId{0});
  before.stacks->add(hash, format::StackId{5});
  EXPECT_EQ(before.stacks->id_of(hash), format::StackId{5});
  EXPECT_EQ(before.stacks->id_of({7, 7ull << 32 | 9}), format::StackId{0});
  ASSERT_TRUE(is_known());
  EXPECT_EQ(known_.stacks, before.stacks);
  EXPECT_EQ(known_.chain, before.chain);
  forget_known_chains();
  ASSERT_TRUE(walk() || walk());
  ASSERT_TRUE(is_known());
  EXPECT_EQ(known_.stacks, before.stacks) << "the same place";
  EXPECT_EQ(known_.stacks->id_of(hash), format::StackId{0});
  EXPECT_NE(known_.chain, before.chain) << "a thread may still write a stack of the chain before";
}

// The chain of another thread was forgotten, and other chains lie in its memory, when that thread writes a
// stack. Then a chain may become unknown, but none that is found is wrong.
TEST_F(KnownChains, WithLateStacksOfForgottenOnes) {
  std::vector<KnownStacks*> forgotten;
  for (std::uint64_t code = 1; code <= 40; ++code) {
    lay(code << 16);
    ASSERT_TRUE(walk() || walk());
    ASSERT_TRUE(is_known());
    forgotten.push_back(known_.stacks);
  }
  forget_known_chains();
  constexpr std::size_t kMore = 12; // longer chains, so that the others' stacks lie in their words, too
  for (std::uint64_t code = 100; code < 140; ++code) {
    lay(code << 16);
    ASSERT_TRUE(walk(kMore) || walk(kMore));
    ASSERT_TRUE(is_known());
  }
  for (KnownStacks* const stacks : forgotten)
    for (std::uint64_t i = 0; i < 3; ++i) stacks->add({~i, i << 32 | i}, format::StackId{9});
  std::size_t known = 0;
  for (std::uint64_t code = 100; code < 140; ++code) {
    lay(code << 16);
    if (!is_known()) continue; // otherwise it has checked the frames
    ++known;
  }
  EXPECT_LT(known, 40u) << "no late stack met a word of another chain";
}

TEST(KnownStacks, TwoHaveRoomAndAThirdTakesAPlace) {
  KnownStacks stacks{};
  const StackHash one{1, 2ull << 32}, two{2, 4ull << 32}, three{3, 6ull << 32}; // of one place, if full
  stacks.add(one, format::StackId{1});
  stacks.add(two, format::StackId{2});
  EXPECT_EQ(stacks.id_of(one), format::StackId{1});
  EXPECT_EQ(stacks.id_of(two), format::StackId{2});
  stacks.add(three, format::StackId{3});
  EXPECT_EQ(stacks.id_of(three), format::StackId{3});
  const bool has_one = stacks.id_of(one) == format::StackId{1},
             has_two = stacks.id_of(two) == format::StackId{2};
  EXPECT_TRUE(has_one != has_two);
}

TEST_F(KnownChains, MoreThanThereIsRoomFor) {
  std::size_t known = 0;
  for (std::uint64_t code = 0; code < 60'000; ++code) {
    lay(code << 16 | 0x1000);
    hint_ = code;
    walk();
    walk();
    known += static_cast<std::size_t>(is_known()); // and is the right one
  }
  EXPECT_GT(known, 20'000u);
  EXPECT_LT(known_chains_bytes(), 2u << 20);
}

} // namespace
} // namespace memtrace::record
