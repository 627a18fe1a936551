// Purpose: `memtrace postmortem`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtrace::cli {

struct PostmortemArguments {
  std::string trace; // "" for the newest job
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> attempt;
  std::vector<std::string> evidence; // files
  std::string format = "text";
  std::string output; // "" for stdout
};

// For `memtrace run`: the text about these traces, one job's, where one of its processes died for memory.
std::optional<std::string> postmortem_of_kill(const std::vector<std::string>& traces, bool color);

// What it says, in pieces, for a terminal with colours or without. Throws as below.
std::vector<std::string> explain(const PostmortemArguments& arguments, bool color);

// The exit status. Throws UsageError, or trace::ReadError when nothing could be read.
int postmortem_command(const PostmortemArguments& arguments);

} // namespace memtrace::cli
