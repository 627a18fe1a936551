// Purpose: the expressions of budgets: what they mean, and how a wrong one is refused.
#include "analyzer/budget/budget.h"

#include <gtest/gtest.h>

#include "analyzer/job/usage_error.h"

namespace memtrace::budget {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_budget(text, "--max");
  } catch (const report::UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Budget, HasTheMemoryTheMeasureAndTheLimit) {
  const MemoryBudget budget = parse_budget(" peak( cuda:1 ,reserved )<=1.5G", "--max");
  EXPECT_EQ(budget.quantity, Quantity::peak);
  EXPECT_EQ(budget.memory, "cuda:1");
  EXPECT_EQ(budget.measure, "reserved");
  EXPECT_EQ(budget.limit, 3 << 29);
  EXPECT_EQ(budget.text, "peak(cuda:1, reserved) <= 1536.00 MiB");
}

TEST(Budget, LeavesOutWhatIsUsual) {
  EXPECT_EQ(parse_budget("peak()<=0", "--max").text, "peak(host, live) <= 0.00 MiB");
  EXPECT_EQ(parse_budget("leak() <= 0", "--max").memory, "host");
  EXPECT_EQ(parse_budget("findings() <= 2", "--max").text, "findings() <= 2");
}

TEST(Budget, NamesAPhaseAsTheReportOrTheJsonDoes) {
  EXPECT_EQ(parse_budget("phase(update) <= 1M", "--max").phase, "step");
  EXPECT_EQ(parse_budget("phase(update/clip) <= 1M", "--max").phase, "step/clip");
  EXPECT_EQ(parse_budget("phase(step, host, tensor) <= 1M", "--max").measure, "tensor");
}

TEST(Budget, TakesSizesInPowersOf1024) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("10"), 10);
  EXPECT_EQ(parse_size("2K"), 2048);
  EXPECT_EQ(parse_size("2KiB"), 2048);
  EXPECT_EQ(parse_size("2 GiB"), std::int64_t{2} << 30);
  EXPECT_EQ(parse_size("0.5m"), 1 << 19);
  EXPECT_EQ(parse_size("1T"), std::int64_t{1} << 40);
  for (const char* const wrong :
       {"", "G", "-1", "1X", "1GG", "1e30", "1e3", "nan", "inf", "0x10", "9999999999G"})
    EXPECT_EQ(parse_size(wrong), std::nullopt) << wrong;
}

TEST(Budget, SaysWhatIsWrong) {
  EXPECT_EQ(refusal("peak(host)"), "--max 'peak(host)': expected EXPRESSION <= SIZE, as in 'peak(host) <= 2G'");
  EXPECT_EQ(refusal("peek(host) <= 1G"),
            "--max 'peek(host) <= 1G': 'peek' is not an expression; it is one of peak, phase, leak, findings");
  EXPECT_EQ(refusal("peak <= 1G"), "--max 'peak <= 1G': expected '(' after 'peak', as in peak(host, tensor)");
  EXPECT_EQ(refusal("peak(host <= 1G"),
            "--max 'peak(host <= 1G': expected ')' before '<=', as in peak(host, tensor)");
  EXPECT_EQ(refusal("peak(gpu) <= 1G"),
            "--max 'peak(gpu) <= 1G': 'gpu' is not a memory; expected host or cuda:N");
  EXPECT_EQ(refusal("peak(cuda:) <= 1G"),
            "--max 'peak(cuda:) <= 1G': 'cuda:' is not a memory; expected host or cuda:N");
  EXPECT_EQ(refusal("phase(load, host, rss) <= 1G"),
            "--max 'phase(load, host, rss) <= 1G': 'rss' is not a measure of phase; expected live or tensor");
  EXPECT_EQ(refusal("phase() <= 1G"),
            "--max 'phase() <= 1G': phase takes 1 to 3 arguments, as in phase(forward, host, tensor)");
  EXPECT_EQ(refusal("peak(host,) <= 1G"),
            "--max 'peak(host,) <= 1G': an argument is empty; expected peak(host, tensor)");
  EXPECT_EQ(refusal("leak() <= much"),
            "--max 'leak() <= much': 'much' is not a size; expected bytes, or K, M, G, T as in 512M or 2GiB");
  EXPECT_EQ(refusal("findings() <= 1G"), "--max 'findings() <= 1G': '1G' is not a number of findings");
}

} // namespace
} // namespace memtrace::budget
