// Purpose: the head of a job of ranks, and which process is shown in full.
#include "analyzer/print/text/job_text.h"

#include <gtest/gtest.h>

namespace memtrace::report {
namespace {

ProcessSummary rank(std::uint32_t number, std::int64_t mib) {
  ProcessSummary out;
  out.pid = 100 + number;
  out.rank = number;
  out.kind = "rank";
  out.script = "train.py";
  out.ended = "exited with 0 after 1.0 s";
  out.allocated = mib << 20;
  return out;
}

TEST(JobText, RanksAreAlikeOrOneDiffers) {
  EXPECT_EQ(ranks_text({rank(0, 400)}, {}, {}), "") << "one rank has no other to differ from";
  EXPECT_EQ(ranks_text({rank(0, 400), rank(1, 410)}, {}, {}).rfind("The 2 ranks are alike", 0), 0u);
  EXPECT_EQ(ranks_text({rank(0, 400), rank(1, 500)}, {}, {}).rfind("None of the 2 ranks stands out", 0), 0u);
  Outlier outlier;
  outlier.rank = 1, outlier.others = 1;
  EXPECT_EQ(ranks_text({rank(0, 400), rank(1, 900)}, {outlier}, {}).rfind("Rank 1 differs", 0), 0u);
}

TEST(JobText, RanksWithoutATraceAreNamed) {
  const auto head = [](const std::vector<std::uint32_t>& numbers, std::uint32_t world) {
    std::vector<ProcessSummary> ranks;
    for (const std::uint32_t number : numbers) {
      ranks.push_back(rank(number, 400));
      ranks.back().world_size = world;
    }
    const std::string text = ranks_text(ranks, {}, {});
    const std::size_t at = text.find(" left a trace here");
    return at == std::string::npos
               ? ""
               : text.substr(text.rfind('\n', at) + 1, text.find('\n', at) - text.rfind('\n', at) - 1);
  };
  EXPECT_EQ(head({0, 1, 2, 3}, 4), "");
  EXPECT_EQ(head({0, 1}, 0), "") << "the size of the job is not known";
  EXPECT_EQ(head({0, 1, 3}, 4), "3 of 4 ranks left a trace here. There is none of: 2.");
  EXPECT_EQ(head({1, 6}, 8), "2 of 8 ranks left a trace here. There is none of: 0, 2 to 5, 7.");
  EXPECT_EQ(head({8, 9}, 4), "2 of 10 ranks left a trace here. There is none of: 0 to 7.");
}

TEST(JobText, TheRankThatDiffersIsShownInFullUnlessTheFirstDied) {
  std::vector<ProcessSummary> ranks = {rank(0, 400), rank(1, 900)};
  Outlier outlier;
  outlier.rank = 1, outlier.others = 1;
  EXPECT_EQ(shown_in_full(ranks, {}), 0u);
  EXPECT_EQ(shown_in_full(ranks, {outlier}), 1u);
  ranks[0].died_for_memory = true;
  EXPECT_EQ(shown_in_full(ranks, {outlier}), 0u);
}

TEST(JobText, NoProcessIsLeftOut) {
  ProcessSummary launcher = rank(trace::kNoRank, 100), worker = rank(1, 50);
  launcher.kind = "main";
  worker.kind = "worker";
  const std::vector<ProcessSummary> all = {rank(0, 400), rank(1, 410), worker, launcher};
  const std::string text = others_text(all, 0, {});
  EXPECT_NE(text.find("worker of rank 1 pid 101: allocated 50.00 MiB at most"), std::string::npos) << text;
  EXPECT_NE(text.find("launcher pid "), std::string::npos) << text;
  EXPECT_EQ(text.find("rank 0"), std::string::npos) << "the ranks have a table: " << text;
}

} // namespace
} // namespace memtrace::report
