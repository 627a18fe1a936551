// Purpose: the head of a job of ranks, and which process is shown in full.
#include "analyzer/print/text/job_text.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_EQ(ranks_text({rank(0, 400), rank(1, 900)}, {{outlier}, {}, {}, {}}, {}).rfind("Rank 1 differs", 0),
            0u);
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

TEST(JobText, ManyRanksShareRows) {
  std::vector<ProcessSummary> ranks;
  for (std::uint32_t number = 0; number < 256; ++number) {
    ranks.push_back(rank(number, number < 128 ? 400 : 250));
    ranks.back().how = number == 77 ? "killed by SIGKILL" : "exited with 1";
    ranks.back().seconds = 10;
    ranks.back().coordinates = {{"pp", number / 128}, {"dp", number % 128}};
    ranks.back().findings = {"Memory grows by " + std::to_string(number % 3) + ".50 MiB every step"};
  }
  ranks[9].allocated = std::int64_t{900} << 20;
  const std::string text = ranks_text(ranks, {}, {});
  const auto line_with = [&text](const std::string& part) {
    const std::size_t at = text.find(part);
    if (at == std::string::npos) return std::string();
    const std::size_t begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 16) << text;
  EXPECT_NE(line_with("ranks 0 to 8, 10 to 76, 78 to 127").find("400.00"), std::string::npos) << text;
  EXPECT_NE(line_with("  rank 9 ").find("900.00"), std::string::npos) << text;
  EXPECT_NE(line_with("  rank 77 ").find("killed by SIGKILL"), std::string::npos) << text;
  EXPECT_NE(line_with("ranks 128 to 255 ").find("pp 1"), std::string::npos) << text;
  EXPECT_NE(text.find("ranks 0 to 255: Memory grows by 0.50 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("of the 128 ranks of stage 0"), std::string::npos) << text;
  EXPECT_NE(text.find("The 128 ranks of stage 1 are alike"), std::string::npos) << text;
}

TEST(JobText, TheFirstToFailIsTheFirstLine) {
  JobDifferences differences;
  differences.death = FirstDeath{};
  differences.death->first = {{3, "gpu-1", "pp 0, dp 3", "killed by SIGKILL", 12.1}};
  differences.death->followed = {{0, "gpu-0", "", "exited with 1", 12.5},
                                 {1, "gpu-0", "", "exited with 1", 12.7}};
  differences.death->least_later = 0.4, differences.death->most_later = 0.6;
  const std::vector<ProcessSummary> ranks = {rank(0, 400), rank(1, 410), rank(3, 400)};
  std::string text = ranks_text(ranks, differences, {});
  EXPECT_EQ(text.rfind("Rank 3 (pp 0, dp 3) failed first: killed by SIGKILL after 12.1 s\n", 0), 0u) << text;
  EXPECT_NE(text.find("400 ms to 600 ms later, 2 ranks followed: ranks 0, 1: exited with 1"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("clocks"), std::string::npos) << text;
  differences.death->clock_error = 1;
  EXPECT_NE(ranks_text(ranks, differences, {}).find("clocks of the hosts: assumed to agree within 1.0 s"),
            std::string::npos);
  differences.death->clock_error = 0.05, differences.death->clocks_compared = true;
  text = ranks_text(ranks, differences, {});
  EXPECT_NE(text.find("clocks of the hosts: compared by common steps, error at most 50 ms"), std::string::npos)
      << text;
  differences.death->first.push_back({9, "gpu-2", "", "killed by SIGKILL", 12.1});
  differences.death->hosts = 3;
  text = ranks_text(ranks, differences, {});
  EXPECT_EQ(text.rfind("Ranks 3, 9 failed first, in an order that is not known", 0), 0u) << text;
}

} // namespace
} // namespace memtrace::report
