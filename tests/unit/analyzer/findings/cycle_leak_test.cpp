// Purpose: what each guessed cycle leaves is found, marked as a guess, and only where no phase is marked.
#include <gtest/gtest.h>

#include "analyzer/findings/all_findings.h"
#include "analyzer/print/json/cycles_json.h"
#include "analyzer/print/text/cycles_text.h"
#include "builder.h"
#include "tests/unit/sizes.h"

namespace memtrace::report {
namespace {

using tests::Builder;
using tests::kMiB;
using tests::kSignedMiB;

class CycleLeaks : public testing::Test {
 protected:
  CycleLeaks() {
    request = builder.python_frame("handle", "/home/u/server.py", 20, 0);
    result = builder.python_frame("handle", "/home/u/server.py", 21, 0);
    kept = builder.python_frame("handle", "/home/u/server.py", 22, 0);
    builder.birth(1, 50 * kMiB);
  }

  // Each cycle makes 4 MiB and 2 MiB and frees them; the 2 MiB only in the next cycle. `keep`: bytes that it
  // leaves. `freed_after`: cycles later it frees them, 0: never.
  void serve(std::uint64_t cycles, std::uint64_t keep, std::uint64_t freed_after = 0) {
    for (std::uint64_t i = 0; i < cycles; ++i) {
      builder.birth(0x1000, 4 * kMiB, format::Kind::heap, 0, request);
      builder.birth(0x2000 + i % 2, 2 * kMiB, format::Kind::heap, 0, result);
      if (i > 0) builder.death(0x2000 + (i + 1) % 2);
      if (keep != 0) builder.birth(0x10000 + i, keep, format::Kind::heap, 0, kept);
      if (freed_after != 0 && i >= freed_after) builder.death(0x10000 + i - freed_after);
      builder.death(0x1000).wait(1'000'000);
    }
  }
  Findings found() {
    builder.exit(0);
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis = analyze_process(std::move(trace), "main", std::move(end), Options{});
    return find(*analysis);
  }

  Builder builder;
  std::uint32_t request = 0;
  std::uint32_t result = 0;
  std::uint32_t kept = 0;
  std::unique_ptr<ProcessAnalysis> analysis;

 private:
  tests::Scratch scratch_;
};

TEST_F(CycleLeaks, OfEachCycle) {
  serve(30, kMiB);
  const Findings all = found();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "leak-per-event");
  EXPECT_EQ(all[0].bytes, kSignedMiB);
  EXPECT_FALSE(all[0].certain);
  EXPECT_EQ(
      all[0].title,
      "Memory grows by 1.00 MiB with each cycle, at server.py:22: 29.00 MiB are held after the last cycle");
  ASSERT_EQ(all[0].evidence.size(), 4u);
  EXPECT_EQ(all[0].evidence[0], "Of 28 compared cycles, 28 left memory");
  EXPECT_EQ(all[0].evidence[2],
            "The cycles are a guess, found from the pattern of allocations: 29 of them, each "
            "begins with a block of server.py:20");
  const Json json = cycles_json(*analysis);
  EXPECT_EQ(json["found"], "from the pattern of allocations");
  EXPECT_EQ(json["count"], 29);
  EXPECT_EQ(json["typical"]["net"], kMiB);
  EXPECT_EQ(json["typical"]["allocated"], 7 * kMiB);
  EXPECT_EQ(json["typical"]["transient"], 6 * kMiB); // 4 and 2 MiB; then the old 2 MiB are freed
  EXPECT_EQ(json["first"]["net"], 3 * kMiB);
  EXPECT_EQ(json["site"]["frames"][0]["line"], 20);
  EXPECT_TRUE(cycles_text(*analysis).starts_with("A guess, found from the pattern of allocations:"));
}

TEST_F(CycleLeaks, OfNothing) {
  serve(30, 0);
  EXPECT_TRUE(found().empty());
  ASSERT_TRUE(analysis->cycles);
  EXPECT_EQ(analysis->cycles->each.size(), 29u);
}

TEST_F(CycleLeaks, OfAWindowAreNone) {
  serve(60, kMiB, 6);
  EXPECT_TRUE(found().empty());
  EXPECT_TRUE(analysis->cycles);
}

// The program reads all that it needs.
TEST_F(CycleLeaks, OfALoopThatOnlyCollectsAreNone) {
  for (std::uint64_t i = 0; i < 30; ++i)
    builder.birth(0x10000 + i, kMiB, format::Kind::heap, 0, kept).wait(1'000'000);
  EXPECT_TRUE(found().empty());
  EXPECT_TRUE(analysis->cycles);
}

TEST_F(CycleLeaks, OfALoopLongBeforeTheEndAreNone) {
  serve(30, kMiB);
  builder.wait(31'000'000);
  EXPECT_TRUE(found().empty());
  EXPECT_FALSE(analysis->cycles);
}

TEST_F(CycleLeaks, OfFewCyclesAreNone) {
  serve(3, 8 * kMiB);
  EXPECT_TRUE(found().empty());
  EXPECT_FALSE(analysis->cycles);
  EXPECT_EQ(cycles_json(*analysis), nullptr);
  EXPECT_EQ(cycles_text(*analysis), "");
}

TEST_F(CycleLeaks, AreNotGuessedBesideMarks) {
  builder.begin("load").end("load");
  serve(30, kMiB);
  found();
  EXPECT_FALSE(analysis->cycles);
}

TEST_F(CycleLeaks, AreNotGuessedBesideSteps) {
  builder.step(0);
  serve(30, kMiB);
  found();
  EXPECT_FALSE(analysis->cycles);
}

} // namespace
} // namespace memtrace::report
