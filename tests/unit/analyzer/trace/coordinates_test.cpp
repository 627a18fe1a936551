// Purpose: the place of a rank in the grid of its job.
#include "analyzer/trace/coordinates.h"

#include <gtest/gtest.h>

#include "preload/format/setting_values.h"

namespace memtrace::trace {
namespace {

Facts rank(std::uint32_t number, std::uint32_t world, std::vector<std::string> notes) {
  Facts out;
  out.rank = number;
  out.world_size = world;
  out.notes = std::move(notes);
  return out;
}

TEST(Coordinates, FollowFromTheRankSlowestAxisFirst) {
  const std::vector<std::string> grid = {"ranks=pp=2,dp=4,tp=8"};
  EXPECT_EQ(text_of(coordinates_of(rank(0, 64, grid))), "pp 0, dp 0, tp 0");
  EXPECT_EQ(text_of(coordinates_of(rank(11, 64, grid))), "pp 0, dp 1, tp 3");
  EXPECT_EQ(text_of(coordinates_of(rank(63, 64, grid))), "pp 1, dp 3, tp 7");
  EXPECT_EQ(stage_of(coordinates_of(rank(63, 64, grid))), 1u);
  EXPECT_EQ(coordinates_of(rank(kNoRank, 64, grid)), Coordinates{}) << "the launcher has the variable, too";
}

TEST(Coordinates, AGridThatDoesNotFitIsNotUsed) {
  const Facts facts = rank(3, 6, {"coordinates=dp=1,tp=2", "ranks=pp=2,dp=4"});
  EXPECT_EQ(text_of(coordinates_of(facts)), "dp 1, tp 2") << "those of the program remain";
  EXPECT_EQ(grid_misfit(facts),
            "MEMTRACE_RANKS=pp=2,dp=4: the grid has 8 ranks, the job has 6: it is not used");
  EXPECT_EQ(grid_misfit(rank(3, 8, {"ranks=pp=2,dp=4"})), "");
  EXPECT_EQ(grid_misfit(rank(3, 0, {"ranks=pp=2,dp=4"})), "") << "the size of the job is not known";
  EXPECT_EQ(grid_misfit(rank(8, 0, {"ranks=pp=2,dp=4"})),
            "MEMTRACE_RANKS=pp=2,dp=4: the grid has 8 ranks, the job has 9: it is not used");
}

TEST(Coordinates, TheUsersGridPrecedesTheProgramsMesh) {
  EXPECT_EQ(text_of(coordinates_of(rank(3, 4, {"ranks=pp=2,dp=2", "coordinates=x=3"}))), "pp 1, dp 1");
  EXPECT_EQ(text_of(coordinates_of(rank(3, 4, {"coordinates=x=3"}))), "x 3");
  EXPECT_EQ(coordinates_of(rank(3, 4, {"coordinates=x;3"})), Coordinates{});
  EXPECT_EQ(coordinates_of(rank(3, 4, {})), Coordinates{});
}

TEST(Coordinates, WhatIsAGrid) {
  EXPECT_EQ(format::parse_grid("dp=8"), 8u);
  EXPECT_EQ(format::parse_grid("pp=2,dp=4,tp=8"), 64u);
  EXPECT_EQ(format::parse_grid("a=16777216"), 16777216u);
  EXPECT_EQ(format::parse_grid("a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1"), 1u);
  for (const char* const text :
       {"", "dp", "dp=", "dp=0", "=4", "dp=4,", ",dp=4", "dp=2,dp=2", "dp=2 ,tp=2", "dp=-1", "1dp=2",
        "dp=2;tp=2", "dp=16777217", "dp=99999999999", "a=4096,b=4097", "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1",
        "an_axis_with_a_name_of_33_letters=2"})
    EXPECT_EQ(format::parse_grid(text), 0u) << text;
}

} // namespace
} // namespace memtrace::trace
