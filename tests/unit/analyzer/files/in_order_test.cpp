// Purpose: tests that work on several threads gives its results, warnings, faults and budget in order.
#include "analyzer/files/in_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "analyzer/files/processors.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/files/warning.h"

namespace memtrace::files {
namespace {

class InOrder : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { limit_jobs(GetParam()); }
  void TearDown() override {
    limit_jobs(0);
    set_warning_writer([](const std::string&) {});
  }
};

TEST_P(InOrder, TakesResultsAndWarningsInTheOrderOfTheWork) {
  std::vector<std::string> seen;
  set_warning_writer([&](const std::string& line) { seen.push_back(line); });
  in_order<std::size_t>(
      100,
      [](std::size_t i) {
        for (std::size_t turn = 0; turn < 7 * i % 11; ++turn) std::this_thread::yield();
        if (i % 3 == 0) warn("warning " + std::to_string(i));
        return i * i;
      },
      [&](std::size_t i, std::size_t square) {
        EXPECT_EQ(square, i * i);
        seen.push_back("result " + std::to_string(i));
      });
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < 100; ++i) {
    if (i % 3 == 0) wanted.push_back("warning " + std::to_string(i));
    wanted.push_back("result " + std::to_string(i));
  }
  EXPECT_EQ(seen, wanted);
}

// Otherwise a slow first trace would let the results of all others wait in memory.
TEST_P(InOrder, IsAtMostTwiceAsManyCallsAheadAsThereAreThreads) {
  std::mutex mutex;
  std::set<std::size_t> waiting;
  std::size_t most = 0;
  in_order<int>(
      64,
      [&](std::size_t i) {
        const std::lock_guard lock(mutex);
        waiting.insert(i);
        most = std::max(most, *waiting.rbegin() - *waiting.begin() + 1);
        return 0;
      },
      [&](std::size_t i, int) {
        std::this_thread::yield();
        const std::lock_guard lock(mutex);
        waiting.erase(i);
      });
  EXPECT_LE(most, 2 * GetParam() + 1);
}

TEST_P(InOrder, ThrowsTheFirstFaultInOrderAfterTheResultsBeforeIt) {
  std::vector<std::size_t> taken;
  std::string fault;
  try {
    in_order<int>(
        20,
        [](std::size_t i) {
          if (i == 9 || i == 11) throw std::runtime_error("fault of " + std::to_string(i));
          return 0;
        },
        [&](std::size_t i, int) { taken.push_back(i); });
  } catch (const std::runtime_error& error) {
    fault = error.what();
  }
  EXPECT_EQ(fault, "fault of 9");
  EXPECT_EQ(taken.size(), 9u);
}

TEST_P(InOrder, GivesEachPieceOfWorkTheWholeRestOfTheBudget) {
  const std::uint64_t looked = Budget::of_command().looked();
  std::vector<std::string> refused;
  in_order<std::string>(
      8,
      [](std::size_t i) -> std::string {
        Budget& budget = Budget::of_command();
        budget.about("trace " + std::to_string(i));
        try {
          budget.looks(i == 3 ? std::uint64_t{1} << 62 : 10'000'000);
        } catch (const OverBudget&) {
          const std::string line = budget.refusal(); // the work is given up, so it does not count
          return line.substr(0, line.find(':'));
        }
        return "";
      },
      [&](std::size_t i, const std::string& refusal) {
        if (!refusal.empty()) refused.push_back(std::to_string(i) + " " + refusal);
      });
  EXPECT_EQ(refused, std::vector<std::string>{"3 trace 3"});
  EXPECT_EQ(Budget::of_command().looked() - looked, 7u * 10'000'000);
}

// Stands for what a thread frees when it ends, as the state of std::thread.
struct LooksAtItsEnd {
  ~LooksAtItsEnd() { Budget::of_command().looks(5); }
  int touched = 0;
};
thread_local LooksAtItsEnd looks_at_its_end;

TEST_P(InOrder, CountsNothingOfAThreadThatReadsNoTrace) {
  const std::uint64_t looked = Budget::of_command().looked();
  in_order<int>(
      8, [](std::size_t) { return ++looks_at_its_end.touched; }, [](std::size_t, int) {});
  EXPECT_EQ(Budget::of_command().looked(), looked) << "two threads would write one count";
}

INSTANTIATE_TEST_SUITE_P(Threads, InOrder, ::testing::Values(1, 2, 5));

} // namespace
} // namespace memtrace::files
