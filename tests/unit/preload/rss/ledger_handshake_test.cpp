// Purpose: the ledger handshake: which answer of the allocator the last ledger has.
#include "preload/rss/ledger_handshake.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <thread>

#include "child.h"
#include "preload/allocator/allocator_stats.h"
#include "preload/os/clocks.h"
#include "preload/os/threads.h"
#include "preload/state/pauses.h"
#include "preload/state/recorder_state.h"

namespace memtrace::record {
namespace {

using tests::in_child;

void ask_glibc_in(State state) {
  find_allocator(true, reinterpret_cast<const void*>(&std::malloc));
  enter(state);
}

TEST(LedgerHandshake, TheEndWaitsForALedgerThatIsBeingTaken) {
  in_child([] {
    ask_glibc_in(State::recording);
    call_for_ledger();
    ASSERT_TRUE(take_unanswered());
    const std::uint64_t began = os::monotonic_ns();
    std::uint64_t ended = began;
    std::thread background([&ended] {
      os::sleep_ns(5'000'000);
      ledger_was_taken(1 << 20, 0, 0);
      ended = os::monotonic_ns();
    });
    answer_at_end();
    background.join();
    // On a busy machine, the other thread may come after the longest wait: then the test cannot tell.
    EXPECT_TRUE(last_answer().given || ended - began > 40'000'000);
  });
}

TEST(LedgerHandshake, TheEndAsksAgainAfterAnAnswerThatWasNotTaken) {
  in_child([] {
    ask_glibc_in(State::recording);
    mallopt(M_TRIM_THRESHOLD, 1 << 30); // what is freed stays with the allocator
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    call_for_ledger();
    void* const block = std::malloc(100'000);
    offer_ledger_turn();
    const std::uint64_t before = last_answer().kept.bytes;
    std::free(block);
    answer_at_end();
    EXPECT_GE(last_answer().kept.bytes, before + 90'000) << "some blocks of others may have come";
  });
}

TEST(LedgerHandshake, TheEndDoesNotWaitWithoutBound) {
  in_child([] {
    ask_glibc_in(State::recording);
    ASSERT_TRUE(take_unanswered());
    const std::uint64_t began = os::monotonic_ns();
    answer_at_end();
    EXPECT_GE(os::monotonic_ns() - began, 50'000'000u);
    EXPECT_FALSE(last_answer().given);
  });
}

std::uint64_t pauses_in(std::size_t from, std::size_t until) {
  const format::Pauses pauses = pauses_so_far();
  std::uint64_t sum = 0;
  for (std::size_t i = from; i < until; ++i) sum += pauses.count[i];
  return sum;
}

// The background thread never comes. So the pause has its longest length, and is counted in its bucket.
TEST(LedgerHandshake, APauseEndsWithoutTheBackgroundThread) {
  in_child([] {
    ask_glibc_in(State::recording);
    call_for_ledger();
    offer_ledger_turn();
    const std::uint64_t longest = pauses_so_far().longest_ns;
    EXPECT_GE(longest, 20'000'000u);
    EXPECT_EQ(pauses_so_far().sum_ns, longest);
    EXPECT_EQ(pauses_in(0, 6), 0u) << "these are shorter than 20 ms";
    EXPECT_EQ(pauses_in(6, format::kPauseBuckets), 1u);
  });
}

TEST(LedgerHandshake, APauseOfARankIsAMillisecond) {
  in_child([] {
    ask_glibc_in(State::recording);
    is_one_of_ranks();
    call_for_ledger();
    offer_ledger_turn();
    EXPECT_GE(pauses_so_far().longest_ns, 1'000'000u);
    EXPECT_EQ(longest_ledger_pause(), 1'000'000u);
  });
}

} // namespace
} // namespace memtrace::record
