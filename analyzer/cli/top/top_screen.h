// Purpose: the screen of `memtrace top` as lines of text: a function of the figures and of what the user chose.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/top/screen_line.h"
#include "analyzer/live/live_state.h"

namespace memtrace::cli {

enum class SortBy : std::uint8_t { rank, live, growth, limit };

// What the user chose, and the terminal.
struct TopView {
  std::size_t columns = 80;
  std::size_t rows = 24;             // 0: as many as it takes
  bool utf8 = true;                  // the terminal shows block characters
  bool keys = false;                 // a terminal is there: the last line names the keys
  std::size_t chosen = 0;            // a process, in the order of `sort`
  std::optional<std::string> memory; // "cuda:0"; nullopt: the one that leads
  SortBy sort = SortBy::rank;
  bool paused = false;
  bool help = false;
  double interval = 2; // seconds
};

// Returns the indices of the processes in the order of the screen.
std::vector<std::size_t> sorted(const std::vector<live::ProcessNow>& processes, SortBy sort);

// Returns at most `rows` lines of at most `columns` columns. `other_jobs`: processes that are not shown.
std::vector<ScreenLine> top_screen(const std::vector<live::ProcessNow>& processes, std::size_t other_jobs,
                                   const TopView& view);

// Returns the lines without styles.
std::string plain_text(const std::vector<ScreenLine>& lines);

} // namespace memtrace::cli
