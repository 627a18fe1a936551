// Purpose: records that reach the rollup in another order than their stamps, or without their counterpart.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "builder.h"
#include "host.h"
#include "preload/rollup/rollup.h"

namespace memtrace::rollup {
namespace {

using format::Kind;
using tests::Builder;

class LateRecords : public testing::Test {
 protected:
  LateRecords() : host_(tests::host()), fold_(std::make_unique<Rollup>()) { fold_->start(host_, false, 0, 0); }
  void apply(const std::vector<int>& order) { // of the records of thread 0, by place
    for (const int i : order) fold_->apply(0, builder_.records(0)[static_cast<std::size_t>(i)]);
  }
  std::int64_t level() const { return fold_->levels()[0][live]; }

  Host host_;
  Builder builder_;
  std::unique_ptr<Rollup> fold_;
};

TEST_F(LateRecords, ABirthAfterItsDeathLeavesNothing) {
  builder_.birth(16, 5000).death(16, 5000).birth(16, 7000);
  fold_->passed(false); // something is missing
  apply({1});
  fold_->passed(false);
  apply({0});
  EXPECT_EQ(level(), 0);
  apply({2});
  fold_->passed(true);
  EXPECT_EQ(level(), 7000);
}

TEST_F(LateRecords, ADeathSaidAfterTheNextBirthIsOfTheFormerBlock) {
  builder_.birth(16, 5000).death(16, 5000).birth(16, 7000).death(16, 7000);
  apply({0, 2}); // a realloc says both halves when it returns
  EXPECT_EQ(level(), 7000);
  apply({1});
  EXPECT_EQ(level(), 7000);
  apply({3});
  EXPECT_EQ(level(), 0);
}

TEST_F(LateRecords, AnInheritedBlockIsNotGivenBackByADeathSaidAfterTheNextBlockCameAndWent) {
  fold_->start(host_, true, 10'000, 0);
  builder_.birth(16, 5000).death(16, 5000).birth(16, 7000).death(16, 7000);
  apply({0, 2, 3, 1});
  EXPECT_EQ(level(), 10'000);
}

TEST_F(LateRecords, APassThatLacksRecordsHasDeathsBeforeTheirBirths) {
  fold_->start(host_, true, 10'000, 0);
  builder_.birth(16, 5000).death(16, 5000);
  builder_.birth(0x10000, 8192, Kind::mmap_anon).unmap(0x10000, 8192);
  fold_->pass_lacks_records();
  apply({1, 3});
  fold_->passed(false);
  apply({0, 2});
  fold_->passed(true);
  EXPECT_EQ(level(), 10'000);
}

TEST_F(LateRecords, ADeathWithoutABirthIsOneOfAnInheritedBlock) {
  fold_->start(host_, true, 10'000, 0);
  builder_.death(16, 5000).unmap(0x10000, 4096);
  fold_->pass_lacks_records();
  apply({0, 1});
  fold_->passed(false);
  EXPECT_EQ(level(), 10'000) << "its birth may come";
  fold_->passed(true);
  EXPECT_EQ(level(), 904);
}

TEST_F(LateRecords, SuchADeathIsNotOneOfAnInheritedBlock) {
  fold_->start(host_, true, 10'000, 0);
  builder_.birth(16, 5000).death(16, 5000).birth(16, 7000);
  apply({0, 2, 1});
  EXPECT_EQ(level(), 17'000);
}

// Two threads map over the halves of it, and one of them unmaps, before the late record comes.
TEST_F(LateRecords, AnUnmappingIsOfWhatNewerMappingsCoveredPieceByPiece) {
  fold_->start(host_, true, 10'000, 0);
  builder_.birth(0x10000, 8192, Kind::mmap_anon).unmap(0x10000, 8192);
  builder_.birth(0x11000, 4096, Kind::mmap_anon).birth(0x10000, 4096, Kind::mmap_anon).unmap(0x10000, 4096);
  apply({0, 2, 3, 4});
  EXPECT_EQ(level(), 14'096);
  apply({1});
  EXPECT_EQ(level(), 14'096);
}

TEST_F(LateRecords, AnUnmappingSaidAfterTheNextMappingIsOfTheFormer) {
  builder_.birth(0x10000, 8192, Kind::mmap_anon).unmap(0x10000, 8192).birth(0x10000, 4096, Kind::mmap_anon);
  apply({0, 2, 1});
  EXPECT_EQ(level(), 4096);
}

TEST_F(LateRecords, AMappingMovesToAPlaceThatIsUnmappedMeanwhile) {
  builder_.birth(0x10000, 8192, Kind::mmap_anon).birth(0x20000, 4096, Kind::mmap_anon);
  builder_.remap(0x10000, 0x20000, 16384, 8192, 5000).unmap(0x20000, 4096);
  apply({0, 1, 2, 3});
  fold_->passed(true);
  EXPECT_EQ(level(), 16384);
}

TEST_F(LateRecords, AMoveSaidAfterTheNextMappingAtItsOldPlaceKeepsBoth) {
  builder_.birth(0x10000, 8192, Kind::mmap_anon).remap(0x10000, 0x20000, 16384, 8192);
  builder_.birth(0x10000, 4096, Kind::mmap_anon);
  apply({0, 2, 1});
  fold_->passed(true);
  EXPECT_EQ(level(), 16384 + 4096);
}

TEST_F(LateRecords, AMoveSaidAfterTheNextMappingCameAndWent) {
  builder_.birth(0x10000, 8192, Kind::mmap_anon).remap(0x10000, 0x20000, 16384, 8192);
  builder_.birth(0x10000, 4096, Kind::mmap_anon).unmap(0x10000, 4096);
  apply({0, 2, 3, 1});
  fold_->passed(true);
  EXPECT_EQ(level(), 16384);
}

TEST_F(LateRecords, WhatDoesNotFitLeavesByTheSizeItsDeathSays) {
  tests::world.most = tests::world.bytes; // no memory at all
  builder_.birth(16, 5000).birth(32, 6000).death(16, 5000);
  apply({0, 1});
  EXPECT_EQ(level(), 11'000);
  apply({2});
  EXPECT_EQ(level(), 6000);
}

TEST_F(LateRecords, AForkedChildEndsWhatItInherited) {
  fold_->start(host_, true, 10'000, 0);
  builder_.death(16, 4000).birth(32, 5000).death(48, 9000);
  apply({0, 1});
  EXPECT_EQ(level(), 11'000);
  apply({2});
  EXPECT_EQ(level(), 5000) << "no more than was inherited";
}

} // namespace
} // namespace memtrace::rollup
