// Purpose: ranks that torchrun ended are told from the one that failed first, by signals and times alone.
#include "analyzer/job/launcher_kills.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "analyzer/job/process_order.h"

namespace memtrace::report {
namespace {

// A rank of torchrun that ended by this signal `end` seconds after its start.
Process ended_rank(std::uint32_t rank, std::uint32_t signal, double end) {
  Process out;
  out.kind = "rank";
  out.facts.launcher = "torchrun";
  out.facts.rank = rank;
  out.facts.pid = 100 + rank;
  out.facts.ppid = 50;
  out.facts.last_stamp = static_cast<std::uint64_t>(end * 1e9);
  out.end.how = signal == SIGKILL ? "unknown" : "signal"; // the sender of SIGKILL is not known
  out.end.code = signal;
  return out;
}

TEST(LauncherKills, TheRanksThatFollowedTheFirst) {
  std::vector<Process> all;
  all.push_back(ended_rank(0, SIGTERM, 10.5));
  all.push_back(ended_rank(1, SIGKILL, 10));
  all.push_back(ended_rank(2, SIGTERM, 10.4));
  find_launcher_kills(all);
  for (const std::size_t i : {0u, 2u}) {
    EXPECT_EQ(all[i].end.how, "killed_by_manager");
    EXPECT_EQ(all[i].end.after, "rank 1");
    EXPECT_FALSE(all[i].end.certain);
    EXPECT_EQ(ended(all[i].end), "killed by torchrun after rank 1 died");
    EXPECT_EQ(gravity(all[i]), Gravity::followed);
  }
  EXPECT_EQ(all[1].end.how, "unknown");
  EXPECT_FALSE(killed_for_memory(all[0].end));
}

TEST(LauncherKills, NoneIfNoRankFailedBefore) {
  std::vector<Process> all;
  all.push_back(ended_rank(0, SIGTERM, 10));
  all.push_back(ended_rank(1, SIGTERM, 10.2)); // the launcher was told to end
  all.push_back(ended_rank(2, SIGKILL, 11));
  find_launcher_kills(all);
  EXPECT_EQ(all[0].end.how, "signal");
  EXPECT_EQ(all[1].end.how, "signal");
}

TEST(LauncherKills, NoneLongAfterOrOfAnotherLauncher) {
  std::vector<Process> all;
  all.push_back(ended_rank(0, SIGKILL, 10));
  all.push_back(ended_rank(1, SIGTERM, 90));
  all.push_back(ended_rank(2, SIGTERM, 10.3));
  all[2].facts.ppid = 51;
  all.push_back(ended_rank(3, SIGTERM, 10.3));
  all[3].facts.launcher = "";
  find_launcher_kills(all);
  for (const std::size_t i : {1u, 2u, 3u}) EXPECT_EQ(all[i].end.how, "signal") << i;
}

} // namespace
} // namespace memtrace::report
