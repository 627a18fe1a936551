// Purpose: what steps left behind, from keyframes and from the whole trace, against what the program did.
#include "analyzer/passes/left_blocks.h"

#include "folded.h"

namespace memtrace::replay {
namespace {

using tests::Builder;
using tests::Folded;

constexpr std::uint64_t kLeavingSteps = 100;
constexpr std::uint64_t kGoneInStep = 40; // blocks that die in their step
constexpr std::uint64_t kGoneInNext = 5;  // blocks that die in the next step
constexpr std::uint64_t kLeftBytes = 10'000;
constexpr std::uint32_t kKeptStack = 2;
constexpr std::uint32_t kLateStack = 3;

// Each step keeps one block, and frees the five of the step before.
Builder program() {
  Builder builder;
  for (std::uint64_t step = 0; step < kLeavingSteps; ++step) {
    builder.step(step);
    for (std::uint64_t i = 0; i < kGoneInStep; ++i) builder.birth(100 + i, 8192).death(100 + i);
    for (std::uint64_t i = 0; i < kGoneInNext; ++i) {
      if (step > 0) builder.death(200 + (step - 1) % 2 * 10 + i);
      builder.birth(200 + step % 2 * 10 + i, kLeftBytes, format::Kind::heap, 0, kLateStack);
    }
    builder.birth(1000 + step, kLeftBytes, format::Kind::heap, 0, kKeptStack);
  }
  return builder;
}

TEST(LeftBlocks, AreEqualFromKeyframesAndFromTheWholeTrace) {
  Builder builder = program();
  const Folded folded(builder);
  Keyframes keyframes(folded.trace());
  keyframes.set_stride(600);
  const Account account = account_phases(folded.trace(), &keyframes);
  ASSERT_GE(keyframes.frames().size(), 5u);
  const trace::Ordinal end = account.peaks.at(0).live.at; // the birth of the last block that is kept
  const trace::Ordinal middle = keyframes.frames()[2]->state.at() + 100;
  for (const trace::Ordinal until : {end, middle}) {
    const LeftQuestion question{{{MemoryId{0}, until}}, {}, {}};
    for (const LeftBlocks& left :
         {left_blocks(folded.trace(), question, &keyframes), left_blocks(folded.trace(), question)}) {
      std::uint64_t kept = 0;
      trace::Ordinal before = 0;
      for (const LeftBlock& block : left.each) {
        EXPECT_GT(block.birth, before);
        EXPECT_LE(block.birth, until);
        before = block.birth;
        if (static_cast<std::uint32_t>(block.stack) != kKeptStack) continue;
        EXPECT_EQ(block.event, static_cast<std::int64_t>(kept++));
        EXPECT_EQ(block.bytes, kLeftBytes);
        if (kept < kLeavingSteps) {
          EXPECT_EQ(block.over, block.birth + 1); // the mark of the next step
        }
      }
      const std::uint64_t freed = left.freed_later.at({0, format::StackId{kLateStack}});
      EXPECT_EQ(left.freed_later.size(), 1u);
      if (until == end) {
        EXPECT_EQ(kept, kLeavingSteps);
        EXPECT_EQ(freed, (kLeavingSteps - 1) * kGoneInNext * kLeftBytes);
      } else {
        EXPECT_GT(kept, 10u);
        EXPECT_NEAR(static_cast<double>(freed), static_cast<double>(kept * kGoneInNext * kLeftBytes),
                    kGoneInNext * kLeftBytes);
      }
    }
  }
}

} // namespace
} // namespace memtrace::replay
