// Purpose: free memory that the allocator keeps is a finding if it grows because later blocks do not reuse it.
#include <gtest/gtest.h>

#include <functional>

#include "analyzer/passes/freed_ranges.h"
#include "folder.h"
#include "tests/unit/sizes.h"

namespace memtrace::tests {
namespace {

constexpr std::uint64_t kSpace = 0x5000'0000'0000; // no address of a block that is mapped alone

class RetentionGrowth : public Folder {
 protected:
  void ledger(std::uint64_t kept) {
    b.put(EventType::sample_ledger, 0, format::kLedgerAsked, {kept + 100 * kMiB, 0, 0, 0, 0, b.now()});
    const auto row =
        static_cast<std::uint16_t>(static_cast<unsigned>(format::LedgerRow::kept) << format::kRowShift);
    b.put(EventType::sample_resident, 0, row, {kept, kept, 0});
  }
  // A block at the end of the heap that is freed, and one behind it that lives on.
  void leaves_a_gap(std::uint64_t bytes) {
    b.birth(top, bytes, Kind::heap, 0, user);
    b.birth(top + bytes + 8, 8192);
    b.death(top, bytes);
    top += bytes + 8192 + 16;
  }
  std::vector<report::Finding> findings() {
    b.exit(0);
    write(".memtrace", b.bytes());
    std::vector<report::Finding> out = report::find(analysis());
    std::erase_if(out,
                  [](const report::Finding& one) { return one.id.find("retention") == std::string::npos; });
    return out;
  }
  // Each round frees 40 MiB, and `round` decides what is allocated.
  std::vector<report::Finding> grow(const std::function<void(std::uint64_t)>& round,
                                    std::uint64_t rise = 40 * kMiB) {
    for (std::uint64_t i = 0; i < 8; ++i) {
      round(i);
      ledger(kMiB + i * rise);
    }
    return findings();
  }

  Builder b;
  std::uint64_t top = kSpace + 4096 + 64;
  std::uint32_t user = b.python_frame("main", "/home/u/read.py", 7, 0);
};

TEST_F(RetentionGrowth, GapsThatAreTooSmall) {
  const auto found = grow([&](std::uint64_t i) { leaves_a_gap((40 + 2 * i) * kMiB); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "retention-growth");
  EXPECT_EQ(found[0].bytes, static_cast<std::int64_t>(281 * kMiB));
  EXPECT_EQ(
      found[0].title,
      "Freed memory that the allocator keeps grew by 280.00 MiB, to 281.00 MiB of 381.00 MiB resident: mostly "
      "blocks of read.py:7");
  EXPECT_NE(found[0].sentences[0].find("larger than the gaps"), std::string::npos) << found[0].sentences[0];
  EXPECT_NE(found[0].remedy.find("use it again at read.py:7"), std::string::npos) << found[0].remedy;
}

TEST_F(RetentionGrowth, ArenasOfOtherThreads) {
  const auto address = [](std::uint64_t i) { return kSpace + 64 + i * 41 * kMiB; };
  b.on(1);
  for (std::uint64_t i = 0; i < 8; ++i) b.birth(address(i), 40 * kMiB);
  const auto found = grow([&](std::uint64_t i) {
    b.on(1).death(address(i), 40 * kMiB);
    b.on(2).birth(2 * kSpace + i * kMiB, kMiB / 2);
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].sentences[0].find("an arena of its own"), std::string::npos) << found[0].sentences[0];
  EXPECT_NE(found[0].remedy.find("MALLOC_ARENA_MAX"), std::string::npos) << found[0].remedy;
}

TEST_F(RetentionGrowth, WhatTheTraceDoesNotShow) {
  const auto found = grow([&](std::uint64_t) { leaves_a_gap(40 * kMiB); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].sentences[0], "The trace does not show why later blocks did not reuse it.");
}

TEST_F(RetentionGrowth, NoneIfItIsSmall) {
  EXPECT_TRUE(grow([&](std::uint64_t) {}, 10 * kMiB).empty());
}

TEST_F(RetentionGrowth, ALevelIsAllocatorRetention) {
  for (const std::uint64_t kept : {1, 200, 200, 200, 200, 200, 200, 200, 200, 201}) {
    ledger(kept * kMiB);
    b.wait(1000);
  }
  const auto found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "allocator-retention");
}

TEST_F(RetentionGrowth, NoneIfItFallsBetween) {
  for (const std::uint64_t kept : {1, 100, 150, 40, 200, 210, 60, 300}) ledger(kept * kMiB);
  EXPECT_TRUE(findings().empty());
}

// Not about the allocator, but from the same ledgers.
TEST_F(RetentionGrowth, WhatWasNeverTouchedComesAfterPagesOfFiles) {
  b.birth(kSpace, 2048 * kMiB, Kind::mmap_anon);
  const auto row = [&](format::LedgerRow which, std::uint64_t resident, std::uint64_t given) {
    b.put(EventType::sample_resident, 0,
          static_cast<std::uint16_t>(static_cast<unsigned>(which) << format::kRowShift), {resident, given, 1});
  };
  for (int i = 0; i < 8; ++i) {
    ledger(400 * kMiB);
    row(format::LedgerRow::files, 400 * kMiB, 400 * kMiB);
    row(format::LedgerRow::anonymous, 0, 2048 * kMiB);
  }
  b.exit(0);
  write(".memtrace", b.bytes());
  std::vector<std::string> ids;
  for (const report::Finding& one : report::find(analysis())) ids.push_back(one.id);
  EXPECT_EQ(
      ids, (std::vector<std::string>{"allocator-retention", "page-cache-not-memory", "reserved-not-resident"}));
}

TEST_F(RetentionGrowth, ABlockOfEachStepIsNoReservation) {
  b.on(1);
  for (int i = 0; i < 8; ++i) {
    b.begin("forward").tensor(1, kMiB);
    b.birth(kSpace, 300 * kMiB, Kind::mmap_anon);
    ledger(kMiB); // before the block is written to
    b.put(EventType::sample_resident, 0,
          static_cast<std::uint16_t>(static_cast<unsigned>(format::LedgerRow::anonymous) << format::kRowShift),
          {0, 300 * kMiB, 1});
    b.death(kSpace, 300 * kMiB, Kind::mmap_anon).end("forward").begin("step").end("step");
  }
  b.exit(0);
  write(".memtrace", b.bytes());
  for (const report::Finding& one : report::find(analysis())) ADD_FAILURE() << one.title;
}

TEST_F(RetentionGrowth, RangesThatWereFreedAndNotUsedAgain) {
  b.on(1);
  const format::Stamp half = b.now();
  b.birth(kSpace + 64, 10'000, Kind::heap, 0, user).birth(kSpace + 64 + 10'008, 10'000);
  b.death(kSpace + 64, 10'000).death(kSpace + 64 + 10'008, 10'000); // one range of 20,008 bytes
  b.birth(kSpace + 64, 4096);                                       // reuses a part
  b.birth(kSpace + 4096 * 100 + 16, 4096 * 3 - 16);                 // mapped alone: leaves no range
  b.death(kSpace + 4096 * 100 + 16, 4096 * 3 - 16);
  b.on(2).birth(kSpace + 4096 * 200, 30'000);
  const format::Stamp until = b.now();
  b.on(1).death(kSpace + 64, 4096); // later
  write(".memtrace", b.bytes());
  const trace::Trace trace(file(".memtrace"));
  const replay::FreedRanges found = replay::freed_ranges(trace, half, until);
  EXPECT_EQ(found.bytes, 20'000u - 4096);
  EXPECT_EQ(found.whole_pages, 2 * 4096u) << "the range is from byte 4160 to byte 20,072";
  EXPECT_EQ(found.stacks.size(), 2u);
  EXPECT_EQ(found.of_idle_threads, 0u);
  EXPECT_EQ(found.later_bytes, 2 * 10'000u + 3 * 4096 - 16 + 30'000);
  EXPECT_EQ(found.later_mapped, 3 * 4096u - 16);
  EXPECT_EQ(found.later_unfitted, 2 * 10'000u + 30'000) << "the first two came when no range was free";
}

} // namespace
} // namespace memtrace::tests
