// Purpose: tests how blocks are grouped by the user's line and by step.
#include "analyzer/explain/holder_rows.h"

#include <gtest/gtest.h>

#include "analyzer/explain/leading_peak.h"
#include "builder.h"

namespace memtrace::report {
namespace {

using tests::Builder;

class HolderRows : public testing::Test {
 protected:
  std::vector<HolderRow> rows(Builder& builder, HolderDetail detail, replay::Step now = replay::Step::none,
                              replay::MemoryId memory = 0) {
    tests::write_file(scratch_.file("t.memtrace"), builder.bytes());
    auto trace = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    ProcessEnd end = read_end(*trace);
    analysis_ = analyze_process(std::move(trace), "main", std::move(end), Options{});
    return holder_rows(*analysis_, alive_at_peak(*analysis_, leading_peak(*analysis_, memory)), detail, now);
  }

 private:
  tests::Scratch scratch_;
  std::unique_ptr<ProcessAnalysis> analysis_;
};

TEST_F(HolderRows, ALineOverManyStepsIsOneRow) {
  Builder builder;
  const std::uint32_t user = builder.python_frame("main", "/home/u/train.py", 3, 0);
  const std::uint32_t a = builder.python_frame("step", "/l/site-packages/lib/a.py", 1, user);
  const std::uint32_t b = builder.python_frame("step", "/l/site-packages/lib/b.py", 2, user);
  for (std::uint64_t step = 0; step < 5; ++step) {
    builder.begin("forward")
        .birth(10 + step, 3 << 20, format::Kind::heap, 0, a)
        .birth(20 + step, 1 << 20, format::Kind::heap, 0, b)
        .end("forward");
    builder.begin("step").end("step");
  }
  const std::vector<HolderRow> all = rows(builder, HolderDetail::by_line);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].bytes, 20 << 20);
  EXPECT_EQ(all[0].line, "train.py:3");
  EXPECT_EQ(all[0].allocator, "lib/a.py:1");
  EXPECT_EQ(all[0].sites, 2u);
  EXPECT_EQ(since(all[0], Step::none), "forward 0 to 4");
  EXPECT_EQ(since(all[0], Step{4}), "forward 0 to end") << "step 4 is what came after training";
  EXPECT_EQ(since("forward", Step{4}, Step{4}, Step{4}), "forward after 3");
  EXPECT_EQ(since("other", Step{4}, Step{4}, Step{4}), "after step 3");
  EXPECT_EQ(rows(builder, HolderDetail::by_site).size(), 2u);
}

// Outside of phases and steps a row has the time of its first block, and few blocks are counted.
TEST_F(HolderRows, OutsideOfPhasesTellTheTimeAndTheCopies) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  Builder builder;
  const std::uint32_t same = builder.python_frame("main", "/home/u/prep.py", 10, 0);
  const std::uint32_t apart = builder.python_frame("main", "/home/u/prep.py", 12, 0);
  builder.wait(2 * kSecond).birth(1 << 28, 40 << 20, format::Kind::heap, 0, same);
  builder.wait(kSecond).birth(2 << 28, 40 << 20, format::Kind::heap, 0, same);
  builder.birth(3 << 28, 10 << 20, format::Kind::heap, 0, apart);
  builder.birth(std::uint64_t{4} << 28, 20 << 20, format::Kind::heap, 0, apart);
  const std::vector<HolderRow> all = rows(builder, HolderDetail::by_line);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(since(all[0], replay::Step::none), "2.0 s");
  EXPECT_EQ(few_blocks(all[0], unit_for(100 << 20)), "2 x 40.00");
  EXPECT_EQ(since(all[1], replay::Step::none), "3.0 s");
  EXPECT_EQ(few_blocks(all[1], unit_for(100 << 20)), "2 blocks");
}

// The threads of NCCL take memory by one stack, whatever communicator it is for.
TEST_F(HolderRows, CommunicatorsOfOneStackAreApart) {
  constexpr std::uint16_t kGpu = 1 << format::kMemoryShift;
  Builder builder;
  builder.module("/l/libnccl.so.2", 0x70000, 0x70000, 4, {});
  const std::uint32_t stack = builder.native_frame(0x70100, 0);
  const auto taken = [&](std::uint64_t address, std::uint64_t bytes, const char* group) {
    builder.birth(address, bytes, format::Kind::device, kGpu, stack);
    const std::uint64_t role = builder.text("comm");
    if (group == nullptr) return;
    builder.put(format::EventType::label, 0, kGpu,
                {address, bytes, role | std::uint64_t{builder.text(group)} << 32});
  };
  taken(1 << 28, 30 << 20, "NCCL, group \"tp\" (ranks 0-3)");
  taken(2 << 28, 20 << 20, "NCCL, group \"dp\" (ranks 0, 4)");
  taken(3 << 28, 10 << 20, "NCCL, group \"tp\" (ranks 0-3)");
  taken(std::uint64_t{4} << 28, 5 << 20, nullptr);
  for (const HolderDetail detail : {HolderDetail::by_line, HolderDetail::by_site}) {
    const std::vector<HolderRow> all = rows(builder, detail, replay::Step::none, 1);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].bytes, 40 << 20);
    EXPECT_EQ(all[0].allocator, "NCCL, group \"tp\" (ranks 0-3)");
    EXPECT_EQ(all[1].bytes, 20 << 20);
    EXPECT_EQ(all[1].allocator, "NCCL, group \"dp\" (ranks 0, 4)");
    EXPECT_EQ(all[2].bytes, 5 << 20);
    for (const HolderRow& row : all) EXPECT_EQ(row.role, replay::Role::comm);
  }
}

// A leak has a holding for each step. Counted as one site each, they used up the names.
TEST_F(HolderRows, ALineOverAThousandStepsIsNamedForAll) {
  constexpr std::uint64_t kSteps = 1000;
  Builder builder;
  const std::uint32_t user = builder.python_frame("main", "/home/u/train.py", 3, 0);
  for (std::uint64_t step = 0; step < kSteps; ++step)
    builder.begin("forward").birth(10 + step, 1 << 20, format::Kind::heap, 0, user).end("forward").step(step);
  const std::vector<HolderRow> all = rows(builder, HolderDetail::by_line);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].line, "train.py:3");
  EXPECT_EQ(all[0].bytes, std::int64_t{kSteps} << 20);
}

TEST_F(HolderRows, SmallSitesThatAreNotNamedSaySo) {
  Builder builder;
  for (std::uint64_t line = 1; line <= 500; ++line) {
    const std::uint32_t frame =
        builder.python_frame("main", "/home/u/train.py", static_cast<std::uint32_t>(line), 0);
    builder.birth(line, 4 << 20, format::Kind::heap, 0, frame);
  }
  const std::vector<HolderRow> all = rows(builder, HolderDetail::by_line);
  ASSERT_EQ(all.size(), 401u);
  EXPECT_EQ(all[0].allocator, "small sites, not named");
  EXPECT_EQ(all[0].blocks, 100u);
}

// Of the peak in step 4, 16 MiB are left of steps 0 to 3, and 4 MiB are of step 4.
TEST_F(HolderRows, WhatIsLeftOfEarlierStepsIsARowOfItsOwn) {
  Builder builder;
  const std::uint32_t user = builder.python_frame("main", "/home/u/train.py", 3, 0);
  for (std::uint64_t step = 0; step < 5; ++step) {
    builder.begin("forward").birth(10 + step, 4 << 20, format::Kind::heap, 0, user).end("forward");
    builder.begin("step").end("step");
  }
  const std::vector<HolderRow> all = rows(builder, HolderDetail::by_line, replay::Step{4});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].left);
  EXPECT_EQ(all[0].bytes, 16 << 20);
  EXPECT_EQ(since(all[0], replay::Step::none), "forward 0 to 3");
  EXPECT_FALSE(all[1].left);
  EXPECT_EQ(all[1].bytes, 4 << 20);
  EXPECT_EQ(since(all[1], replay::Step::none), "forward 4");
}

// Two lines with four small sites each, and a large one.
TEST_F(HolderRows, TheSmallSitesOfALineAreOneRow) {
  Builder builder;
  std::uint64_t address = 0;
  for (std::uint32_t line = 3; line <= 4; ++line) {
    const std::uint32_t user = builder.python_frame("main", "/home/u/train.py", line, 0);
    for (std::uint32_t site = 1; site <= 4; ++site)
      builder.birth(++address, site << 20, format::Kind::heap, 0,
                    builder.python_frame("f", "/l/site-packages/lib/a.py", site, user));
  }
  const std::vector<HolderRow> sites = rows(builder, HolderDetail::by_site);
  EXPECT_EQ(sites.size(), 8u);
  const std::vector<HolderRow> all = with_small_sites_joined(sites, 4 << 20);
  ASSERT_EQ(all.size(), 4u);
  for (const HolderRow& row : all) {
    const bool large = row.sites == 1;
    EXPECT_EQ(row.bytes, large ? 4 << 20 : 6 << 20) << "1 + 2 + 3 MiB";
    EXPECT_EQ(row.blocks, large ? 1u : 3u);
    EXPECT_EQ(row.allocator, large ? "lib/a.py:4" : "lib/a.py:3") << "the largest of them";
    EXPECT_EQ(row.sites, large ? 1u : 3u);
  }
  EXPECT_NE(all[0].line, all[1].line);
}

} // namespace
} // namespace memtrace::report
