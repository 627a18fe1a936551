// Purpose: the figures that the line of a cgroup shows add up to its total.
#include "analyzer/print/text/ledger_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::kMiB;

std::string line_of(const RssLedger& ledger) {
  Lines lines({});
  write_ledger_line(ledger, lines);
  std::string text = lines.take();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST(LedgerText, ACgroupsLineAddsUp) {
  RssLedger ledger;
  ledger.scope = "cgroup";
  ledger.of = "/job";
  ledger.t = 7;
  ledger.total = ledger.high_water = 4003 * kMiB;
  const auto row = [&ledger](const char* name, std::uint64_t bytes) {
    RssRow& added = ledger.rows.emplace_back();
    added.name = name;
    added.bytes = bytes;
  };
  row("anonymous memory", 3990 * kMiB);
  row("page cache, clean", 8 * kMiB);
  row("slab", 2 * kMiB);
  row("page tables", kMiB);
  ledger.residual = 2 * kMiB;
  EXPECT_EQ(
      line_of(ledger),
      "cgroup /job at 7.0 s, its highest sample: 4003.00 MiB used = anonymous memory 3990.00 + page cache, "
      "clean 8.00 + smaller rows 3.00, residual 2.00 ");
  ledger.high_water = 4100 * kMiB;
  EXPECT_NE(line_of(ledger).find("; between samples, or before this program, the kernel counted 4100.00"),
            std::string::npos)
      << line_of(ledger);
}

} // namespace
} // namespace memtrace::report
