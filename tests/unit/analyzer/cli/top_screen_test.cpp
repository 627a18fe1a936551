// Purpose: the text of the screen of `memtrace top`.
#include "analyzer/cli/top/top_screen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "analyzer/cli/top/top_chart.h"
#include "analyzer/wording/utf8.h"
#include "tests/unit/sizes.h"

namespace memtrace::cli {
namespace {

using live::LimitNow;
using live::MemoryNow;
using live::ProcessNow;
using tests::kGiB;
using tests::kSignedMiB;

ProcessNow process(std::uint32_t rank) {
  ProcessNow one;
  one.path = "t" + std::to_string(rank);
  one.script = "train.py";
  one.pid = 4000 + rank;
  one.rank = rank;
  one.running = true;
  one.seconds = 723;
  one.phase = "forward";
  one.step = 1234;
  one.step_seconds = 0.5;
  one.phases_of = 1233;
  one.resident = 28 * kGiB;
  MemoryNow host;
  host.name = "host";
  host.live = 27 * 1024 * kSignedMiB;
  host.tensor = 26 * 1024 * kSignedMiB;
  host.per_step = 12 * kSignedMiB;
  host.per_second = 24.0 * (1 << 20);
  host.roles = {{"parameter", 20 * 1024 * kSignedMiB}, {"activation", 7 * 1024 * kSignedMiB}};
  host.phases = {{"forward", 27 * 1024 * kSignedMiB, 12 * kSignedMiB, 0},
                 {"update", 20 * 1024 * kSignedMiB, 0, kSignedMiB}};
  for (int i = 0; i < 200; ++i) host.steps.push_back({1035 + i, 0, (20 * 1024 + 12 * i) * kSignedMiB});
  for (int i = 0; i < 8; ++i)
    host.large.push_back({std::uint64_t{512} << 20, 12, 2.1, "forward", "torch.empty  train.py:48"});
  one.memories = {host};
  LimitNow group;
  group.name = "cgroup /job";
  group.used = 27 * kGiB;
  group.limit = 32 * kGiB;
  group.growth = 24.0 * (1 << 20);
  group.full_in = 213;
  LimitNow machine;
  machine.of = LimitNow::LiveLimitKind::machine;
  machine.name = "machine";
  machine.used = 100 * kGiB;
  machine.limit = 512 * kGiB;
  one.limits = {group, machine};
  return one;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string screen(const std::vector<ProcessNow>& processes, std::size_t columns, std::size_t rows,
                   TopView view = {}) {
  view.columns = columns;
  view.rows = rows;
  const std::string text = plain_text(top_screen(processes, 0, view));
  const std::vector<std::string> lines = lines_of(text);
  EXPECT_LE(lines.size(), rows);
  for (const std::string& line : lines) EXPECT_LE(report::columns(line), columns) << line;
  return text;
}

// True if the text has the part, perhaps broken into two lines.
bool has(std::string text, const std::string& part) {
  const bool whole = text.find(part) != std::string::npos;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return whole || text.find(part) != std::string::npos;
}

TEST(TopScreen, TheAnswerComesFirst) {
  const std::string text = screen({process(0)}, 80, 24);
  const std::vector<std::string> lines = lines_of(text);
  EXPECT_EQ(lines[0], "train.py  rank 0 pid 4000  12 min 3 s");
  EXPECT_EQ(lines[1].substr(0, 31), "Full in 3 min 33 s (426 steps):") << lines[1];
  EXPECT_TRUE(has(text, "cgroup /job has 5.00 GiB left of 32.00 GiB (84 % used)")) << text;
  EXPECT_TRUE(has(text, "+12.00 MiB a step")) << text;
  EXPECT_TRUE(has(text, "step 1,234 in forward   500 ms a step")) << text;
  EXPECT_TRUE(has(text, "peak of steps 1,155 to 1,234")) << text;
  EXPECT_TRUE(has(text, "host by role")) << text;
  EXPECT_TRUE(has(text, "step 1,233  ")) << text;
  EXPECT_TRUE(has(text, "torch.empty  train.py:48  forward")) << text;
}

TEST(TopScreen, FitsWideAndNarrowTerminals) {
  for (const std::size_t columns : {20U, 40U, 60U, 71U, 72U, 80U, 100U, 200U}) {
    for (const std::size_t rows : {1U, 2U, 5U, 10U, 24U, 60U}) {
      TopView view;
      view.keys = rows % 2 == 0;
      const std::string one = screen({process(0)}, columns, rows, view);
      EXPECT_TRUE(rows < 5 || has(one, "Full in"));
      screen({process(0), process(1), process(2), process(3), process(4), process(5), process(6), process(7)},
             columns, rows, view);
    }
  }
}

TEST(TopScreen, NarrowTablesStandBelowEachOther) {
  const std::string text = screen({process(0)}, 40, 40);
  EXPECT_LT(text.find("host by role"), text.find("step 1,233  "));
  EXPECT_TRUE(has(text, "parameter")) << text;
  EXPECT_TRUE(has(text, "update")) << text;
}

TEST(TopScreen, ARowForEachProcess) {
  std::vector<ProcessNow> processes = {process(1), process(0)};
  processes[0].memories[0].live = 30 * 1024 * kSignedMiB;
  processes[0].limits[0].full_in = 90;
  TopView view;
  view.chosen = 1;
  const std::string text = screen(processes, 80, 30, view);
  EXPECT_TRUE(has(text, "train.py  rank 1 pid 4001 of 2 processes")) << text;
  EXPECT_TRUE(has(text, "rank 1: Full in 90")) << text;
  EXPECT_LT(text.find(" 4000  forward"), text.find(" 4001  forward"));
  view.sort = SortBy::live;
  view.chosen = 0;
  const std::string by_live = screen(processes, 80, 30, view);
  EXPECT_GT(by_live.find(" 4000  forward"), by_live.find(" 4001  forward"));
}

TEST(TopScreen, NothingToShow) {
  EXPECT_TRUE(has(screen({}, 80, 24), "No process to show."));
  ProcessNow empty;
  empty.running = true;
  EXPECT_TRUE(has(screen({empty}, 80, 24), "No limit is known"));
  ProcessNow broken;
  broken.error = "t.memtrace: expected a memtrace trace";
  EXPECT_TRUE(has(screen({broken}, 80, 24), "expected a memtrace trace"));
}

TEST(TopScreen, EndsAndAges) {
  ProcessNow one = process(0);
  one.running = false;
  one.end = "killed by SIGKILL";
  one.ended_badly = true;
  EXPECT_TRUE(has(screen({one}, 80, 24), "rank 0 killed by SIGKILL. `memtrace postmortem` says why."));
  one = process(0);
  one.age = 12;
  EXPECT_TRUE(has(screen({one}, 80, 24), "figures 12"));
  one.limits[0].full_in.reset();
  EXPECT_TRUE(has(screen({one}, 80, 24), "No growth towards a limit. cgroup /job has 5.00 GiB left"));
}

TEST(TopChart, HighestFillsAndLowestIsSeen) {
  const std::vector<std::int64_t> values = {100, 200, 300, 200};
  const Chart bars = chart(values, 2, true);
  ASSERT_EQ(bars.lines.size(), 2u);
  EXPECT_EQ(bars.low, 100);
  EXPECT_EQ(bars.high, 300);
  EXPECT_EQ(bars.lines[0], "  █ ");
  EXPECT_EQ(bars.lines[1], "▁███");
  for (const std::string& line : chart(values, 3, false).lines)
    for (const char c : line) EXPECT_LT(static_cast<unsigned char>(c), 128);
  const std::vector<std::int64_t> equal = {1000, 1000};
  EXPECT_EQ(chart(equal, 1, true).low, 990);
}

} // namespace
} // namespace memtrace::cli
