// Purpose: ledgers as they are read from a trace: the highest, the last, and one that is said again.
#include "analyzer/trace/rss_ledgers.h"

#include <gtest/gtest.h>

#include "analyzer/trace/trace.h"
#include "builder.h"

namespace memtrace::trace {
namespace {

using format::LedgerRow;
using tests::Builder;
using tests::EventType;
using tests::Scratch;

Ledgers read_ledgers(Builder& builder) {
  const Scratch scratch;
  tests::write_file(scratch.file("t.memtrace"), builder.bytes());
  const Trace trace(scratch.file("t.memtrace"));
  Ledgers out;
  trace.each([&](const Event& event) { out.add(event); });
  return out;
}

void head(Builder& b, std::uint64_t total, std::uint64_t high_water, std::uint16_t flags = 0,
          std::uint64_t stamp = 7) {
  b.put(EventType::sample_ledger, 0, flags, {total, high_water, 0, 3, 1, stamp});
}
void row(Builder& b, LedgerRow which, std::uint64_t resident, std::uint16_t flags = 0) {
  const auto row = static_cast<std::uint16_t>(static_cast<unsigned>(which) << format::kRowShift);
  b.put(EventType::sample_resident, 0, row | flags, {resident, 2 * resident, 5});
}
std::uint64_t in(const std::optional<ProcessLedger>& ledger, LedgerRow which) {
  const auto& amount = ledger->rows[static_cast<std::size_t>(which)];
  return amount ? amount->resident : 0;
}

TEST(Ledgers, HighestAndLastWithTheirRows) {
  Builder b;
  b.on(0);
  head(b, 100, 120);
  row(b, LedgerRow::heap, 60);
  head(b, 300, 310);
  row(b, LedgerRow::tensors, 250, format::kRowIsSampled);
  head(b, 200, 305, format::kLedgerLast);
  row(b, LedgerRow::heap, 150);
  const Ledgers out = read_ledgers(b);
  EXPECT_EQ(out.taken(), 3u);
  EXPECT_EQ(out.high_water(), 310u) << "the largest that was read, though the program reset it";
  ASSERT_TRUE(out.highest() && out.last());
  EXPECT_EQ(out.highest()->total, 300u);
  EXPECT_EQ(in(out.highest(), LedgerRow::tensors), 250u);
  EXPECT_TRUE(out.highest()->rows[static_cast<std::size_t>(LedgerRow::tensors)]->sampled);
  EXPECT_EQ(in(out.highest(), LedgerRow::heap), 0u) << "rows are of the ledger before them alone";
  ASSERT_TRUE(out.first());
  EXPECT_EQ(out.first()->total, 100u);
  EXPECT_EQ(in(out.first(), LedgerRow::heap), 60u);
  EXPECT_EQ(in(out.first(), LedgerRow::tensors), 0u) << "rows of a later ledger";
  EXPECT_EQ(out.last()->total, 200u);
  EXPECT_TRUE(out.last()->at_end);
  EXPECT_EQ(in(out.last(), LedgerRow::heap), 150u);
}

TEST(Ledgers, OfTwoAboutAsHighTheSoundOne) {
  constexpr std::uint16_t kAsked = format::kLedgerAsked;
  Builder b;
  b.on(0);
  head(b, 1000, 0, kAsked);
  head(b, 1009, 0); // nobody asked the allocator
  EXPECT_EQ(read_ledgers(b).highest()->total, 1000u);
  head(b, 1020, 0);
  EXPECT_EQ(read_ledgers(b).highest()->total, 1020u) << "that much higher counts for more";
  head(b, 1015, 0, kAsked);
  EXPECT_EQ(read_ledgers(b).highest()->total, 1015u);
  head(b, 1016, 0, kAsked);
  EXPECT_EQ(read_ledgers(b).highest()->total, 1016u);
  EXPECT_TRUE(read_ledgers(b).highest()->allocator_asked);
}

// At the highest moment the allocator gave no answer: 400 of 1,100 are in no row.
TEST(Ledgers, TheHighestThatAddsUp) {
  Builder b;
  b.on(0);
  EXPECT_EQ(read_ledgers(b).highest_closed(), nullptr);
  head(b, 900, 0);
  row(b, LedgerRow::heap, 895);
  head(b, 1000, 0);
  row(b, LedgerRow::heap, 700);
  row(b, LedgerRow::kept, 295);
  head(b, 1100, 0);
  row(b, LedgerRow::heap, 700);
  const Ledgers out = read_ledgers(b);
  EXPECT_EQ(out.highest()->total, 1100u);
  ASSERT_NE(out.highest_closed(), nullptr);
  EXPECT_EQ(out.highest_closed()->total, 1000u);
  EXPECT_EQ(out.highest_closed()->rows[static_cast<std::size_t>(LedgerRow::kept)]->resident, 295u);
  row(b, LedgerRow::kept, 400);
  EXPECT_EQ(read_ledgers(b).highest_closed()->total, 1100u) << "the last one, once its rows are there";
  head(b, 500, 0);
  row(b, LedgerRow::heap, 500);
  EXPECT_EQ(read_ledgers(b).highest_closed()->total, 1100u) << "a later one is lower";
}

TEST(Ledgers, OneSaidAgainIsTheHighestOrNothing) {
  Builder b;
  b.on(0);
  head(b, 200, 900);
  row(b, LedgerRow::heap, 190);
  head(b, 800, 900, format::kLedgerAgain, 3); // the window that had it is gone
  row(b, LedgerRow::heap, 700);
  const Ledgers out = read_ledgers(b);
  EXPECT_EQ(out.taken(), 1u);
  EXPECT_EQ(out.highest()->total, 800u);
  EXPECT_EQ(out.highest()->stamp, 3u) << "when it was taken";
  EXPECT_EQ(in(out.highest(), LedgerRow::heap), 700u);
  EXPECT_EQ(out.last()->total, 200u);
  EXPECT_EQ(in(out.last(), LedgerRow::heap), 190u);
}

TEST(Ledgers, RowsOfNothingAndOfNoNameAreLeftOut) {
  Builder b;
  b.on(0);
  row(b, LedgerRow::heap, 60);
  head(b, 100, 0);
  b.put(EventType::sample_resident, 0, 200 << format::kRowShift, {50, 50, 1});
  const Ledgers out = read_ledgers(b);
  for (const auto& amount : out.highest()->rows) EXPECT_FALSE(amount);
}

} // namespace
} // namespace memtrace::trace
