// Purpose: what counts as alive: moves, mappings given back in parts, reservations, forked children.
#include "analyzer/replay/live_blocks.h"

#include "folded.h"
#include "tests/unit/sizes.h"

namespace memtrace::replay {
namespace {

using format::Kind;
using tests::Builder;
using tests::Folded;

using tests::kMiB;
constexpr std::uint32_t kNone = 0;
constexpr std::uint32_t kReadWrite = 3;

// `live` of the host at the end of what was built, by way of a phase that ends there.
std::int64_t live(Builder& builder) {
  builder.begin("last").end("last");
  return Folded(builder).row("last", -1).of(0).live.exit;
}

std::int64_t peak(Builder& builder) {
  return Folded(builder).account.peaks.at(0).live.bytes;
}

TEST(Ledger, BirthsAndDeaths) {
  Builder builder;
  builder.birth(0x1000, 100).birth(0x2000, 50).death(0x1000);
  EXPECT_EQ(live(builder), 50);
  EXPECT_EQ(peak(builder), 150);
}

TEST(Ledger, AMoveIsNeverBothBlocks) {
  Builder builder;
  builder.birth(0x1000, 100).move(0x1000, 0x2000, 300, 100).death(0x1000);
  EXPECT_EQ(live(builder), 300);
  EXPECT_EQ(peak(builder), 300);
  const Folded folded(builder);
  EXPECT_EQ(folded.account.unknown_deaths, 1u);
  Builder in_place;
  in_place.birth(0x1000, 100).move(0x1000, 0x1000, 60, 100);
  EXPECT_EQ(live(in_place), 60);
}

TEST(Ledger, ABirthOverALiveBlockReplacesIt) {
  Builder builder;
  builder.birth(0x1000, 100).birth(0x1000, 30);
  EXPECT_EQ(live(builder), 30);
  EXPECT_EQ(Folded(builder).row("other", -1).of(0).freed, 100u);
}

TEST(Ledger, AMappingIsGivenBackInParts) {
  Builder builder;
  builder.birth(10 * kMiB, 8 * kMiB, Kind::mmap_anon).unmap(12 * kMiB, kMiB);
  EXPECT_EQ(live(builder), 7 * static_cast<std::int64_t>(kMiB));
  builder.unmap(9 * kMiB, 2 * kMiB).unmap(15 * kMiB, 100 * kMiB);
  EXPECT_EQ(live(builder), 3 * static_cast<std::int64_t>(kMiB)); // 11..12 and 13..15
  builder.unmap(0, 100 * kMiB);
  EXPECT_EQ(live(builder), 0);
}

TEST(Ledger, AUnmapOverSeveralMappings) {
  Builder builder;
  for (std::uint64_t i = 0; i < 4; ++i) builder.birth((10 + 2 * i) * kMiB, kMiB, Kind::mmap_anon);
  builder.unmap(10 * kMiB + kMiB / 2, 5 * kMiB);
  EXPECT_EQ(live(builder), static_cast<std::int64_t>(kMiB / 2 + kMiB)); // half of the first, and the last
}

TEST(Ledger, MapFixedLiesOverWhatWasThere) {
  Builder builder;
  builder.birth(10 * kMiB, 8 * kMiB, Kind::mmap_anon).birth(12 * kMiB, 2 * kMiB, Kind::mmap_anon);
  EXPECT_EQ(live(builder), 8 * static_cast<std::int64_t>(kMiB));
  builder.birth(12 * kMiB, 2 * kMiB, Kind::mmap_file);
  EXPECT_EQ(live(builder), 6 * static_cast<std::int64_t>(kMiB));
}

TEST(Ledger, AReservationIsNotMemoryUntilItIsOpened) {
  Builder builder;
  builder.birth(1ull << 40, 64ull << 30, Kind::mmap_anon, format::kNoAccess);
  EXPECT_EQ(peak(builder), 0);
  builder.protect((1ull << 40) + kMiB, 2 * kMiB, kReadWrite);
  EXPECT_EQ(live(builder), 2 * static_cast<std::int64_t>(kMiB));
  builder.protect((1ull << 40) + kMiB, kMiB, 1); // still readable: nothing changes
  EXPECT_EQ(live(builder), 2 * static_cast<std::int64_t>(kMiB));
  builder.protect(1ull << 40, 2 * kMiB, kNone);
  EXPECT_EQ(live(builder), static_cast<std::int64_t>(kMiB));
  builder.unmap(1ull << 40, 64ull << 30);
  EXPECT_EQ(live(builder), 0);
  EXPECT_EQ(peak(builder), 2 * static_cast<std::int64_t>(kMiB));
}

TEST(Ledger, MremapMovesGrowsShrinksAndKeepsWhatAMappingIs) {
  const auto mib = [](std::int64_t n) { return n * static_cast<std::int64_t>(kMiB); };
  Builder builder;
  builder.birth(10 * kMiB, 4 * kMiB, Kind::mmap_anon).remap(10 * kMiB, 10 * kMiB, 6 * kMiB, 4 * kMiB);
  EXPECT_EQ(live(builder), mib(6)) << "grown in place";
  builder.remap(10 * kMiB, 50 * kMiB, 8 * kMiB, 6 * kMiB);
  EXPECT_EQ(live(builder), mib(8)) << "moved";
  builder.unmap(10 * kMiB, 6 * kMiB, format::kReleased);
  EXPECT_EQ(live(builder), mib(8)) << "nothing is left where it was";
  builder.remap(50 * kMiB, 50 * kMiB, kMiB, 8 * kMiB);
  EXPECT_EQ(live(builder), mib(1)) << "shrunk";
  builder.remap(50 * kMiB, 60 * kMiB, kMiB, 0);
  EXPECT_EQ(live(builder), mib(2)) << "the old one stays";
  EXPECT_EQ(peak(builder), mib(8)) << "never both places at once";
  builder.birth(100 * kMiB, kMiB, Kind::mmap_file).remap(100 * kMiB, 200 * kMiB, 9 * kMiB, kMiB);
  builder.birth(300 * kMiB, kMiB, Kind::mmap_anon, format::kNoAccess)
      .remap(300 * kMiB, 400 * kMiB, 9 * kMiB, kMiB);
  builder.remap(900 * kMiB, 901 * kMiB, kMiB, kMiB); // of a mapping that nobody saw being made
  EXPECT_EQ(live(builder), mib(2));
}

// A thread was preempted between the stamp and the call. Another one unmapped, and the kernel gave its place.
TEST(Ledger, MremapToAPlaceThatAnotherThreadUnmapsMeanwhile) {
  Builder builder;
  builder.on(1).birth(10 * kMiB, 4 * kMiB, Kind::mmap_anon).birth(50 * kMiB, kMiB, Kind::mmap_anon);
  builder.remap(10 * kMiB, 50 * kMiB, 8 * kMiB, 4 * kMiB, 10'000);
  builder.on(2).unmap(50 * kMiB, kMiB).wait(20'000);
  EXPECT_EQ(live(builder), 8 * static_cast<std::int64_t>(kMiB));
  builder.birth(10 * kMiB, kMiB, Kind::mmap_anon);
  EXPECT_EQ(live(builder), 9 * static_cast<std::int64_t>(kMiB)) << "the old place is another's";
}

TEST(Ledger, MremapOfAPartLeavesTheRest) {
  Builder builder;
  builder.birth(10 * kMiB, 4 * kMiB, Kind::mmap_anon).remap(11 * kMiB, 50 * kMiB, kMiB, kMiB);
  EXPECT_EQ(live(builder), 4 * static_cast<std::int64_t>(kMiB));
  builder.unmap(10 * kMiB, 4 * kMiB);
  EXPECT_EQ(live(builder), static_cast<std::int64_t>(kMiB));
}

TEST(Ledger, FileMappingsNeverCount) {
  Builder builder;
  builder.birth(kMiB, kMiB, Kind::mmap_file).protect(kMiB, kMiB, kNone).protect(kMiB, kMiB, kReadWrite);
  EXPECT_EQ(peak(builder), 0);
  builder.unmap(kMiB, kMiB);
  EXPECT_EQ(live(builder), 0);
  EXPECT_EQ(Folded(builder).account.unknown_deaths, 0u);
}

TEST(Ledger, RegisteredMemoryWasCountedBefore) {
  Builder builder;
  builder.birth(0x1000, 100).birth(0x1000, 100, Kind::registered).death(0x1000, 100, Kind::registered);
  EXPECT_EQ(live(builder), 100);
  EXPECT_EQ(peak(builder), 100);
}

TEST(Ledger, TensorsInsideASegmentShareItsAddress) {
  Builder builder;
  const std::uint16_t device = 1 << format::kMemoryShift;
  builder.birth(0x1000, 1000, Kind::device, device)
      .birth(0x1000, 600, Kind::none, static_cast<std::uint16_t>(device | format::kTensor))
      .death(0x1000, 600, Kind::none, static_cast<std::uint16_t>(device | format::kTensor));
  const Folded folded(builder);
  EXPECT_EQ(folded.account.peaks.at(1).live.bytes, 1000);
  EXPECT_EQ(folded.account.peaks.at(1).tensor.bytes, 600);
  EXPECT_EQ(folded.account.peaks.at(0).live.bytes, 0);
}

TEST(Ledger, TensorCountsWhatWasAskedFor) {
  Builder builder;
  builder.tensor(0x1000, 1000);
  const Folded folded(builder);
  EXPECT_EQ(folded.account.peaks.at(0).tensor.bytes, 1000);
  EXPECT_EQ(folded.account.peaks.at(0).live.bytes, 1008);
}

TEST(Ledger, SmallFlowsCountBeforeTheRecordThatCarriesThem) {
  Builder builder;
  builder.birth(0x1000, 5000, Kind::heap, 0, 0, 0, {700, 0, 7, 0})
      .death(0x1000, 0, Kind::heap, 0, {0, 600, 0, 6});
  const Folded folded(builder);
  EXPECT_EQ(folded.account.peaks.at(0).live.bytes, 5700);
  const MemoryRow& other = folded.row("other", -1).of(0);
  EXPECT_EQ(other.allocated, 5700u);
  EXPECT_EQ(other.freed, 5600u);
  EXPECT_EQ(other.allocations, 8u);
}

TEST(Ledger, AnUnknownDeathIsIgnored) {
  Builder builder;
  builder.birth(0x1000, 100).death(0x9000, 5000).unmap(kMiB, kMiB, format::kReleased);
  EXPECT_EQ(live(builder), 100);
  EXPECT_EQ(Folded(builder).account.unknown_deaths, 1u) << "a released range needs no birth";
}

TEST(Ledger, AForkedChildGivesBackWhatItInherited) {
  Builder builder;
  builder.fork(1000, 400).death(0x9000, 300).death(0xA000, 100, Kind::heap, format::kTensor);
  builder.birth(0x1000, 50);
  const Folded folded(builder);
  EXPECT_EQ(folded.account.peaks.at(0).live.bytes, 1000);
  EXPECT_EQ(folded.account.peaks.at(0).tensor.bytes, 400);
  builder.death(0xB000, 1 << 30); // more than was inherited: never below what is its own
  EXPECT_EQ(live(builder), 50);
}

TEST(Ledger, AnArmedProcessBeginsWithWhatItHeld) {
  Builder builder;
  builder.armed(1000, 400).note("before.device=0 700").death(0x9000, 300);
  builder.birth(0x1000, 50).birth(0xD000, 10, Kind::device, 1 << format::kMemoryShift);
  builder.death(0xC000, 200, Kind::device, 1 << format::kMemoryShift);
  const Folded folded(builder);
  EXPECT_FALSE(folded.trace().facts().fork) << "it has no recorded parent";
  EXPECT_EQ(folded.account.peaks.at(0).live.bytes, 1000);
  EXPECT_EQ(folded.account.peaks.at(0).tensor.bytes, 400);
  EXPECT_EQ(folded.account.peaks.at(1).live.bytes, 710);
  EXPECT_EQ(folded.account.unknown_deaths, 0u);
  EXPECT_EQ(live(builder), 750);
}

TEST(Ledger, NonsenseSizesDoNoHarm) {
  Builder builder;
  for (std::uint64_t i = 0; i < 4; ++i)
    builder.birth(i << 60, ~std::uint64_t{0} >> 1, Kind::heap, format::kTensor);
  builder.birth(~std::uint64_t{0} - 10, 100, Kind::mmap_anon).birth(0, ~std::uint64_t{0}, Kind::mmap_anon);
  builder.unmap(~std::uint64_t{0} - 100, ~std::uint64_t{0})
      .protect(5, ~std::uint64_t{0}, 0)
      .counters(~0ull, 3, 9, 9);
  builder.begin("step").end("step");
  const Folded folded(builder);
  EXPECT_TRUE(folded.has("step", 0));
}

} // namespace
} // namespace memtrace::replay
