// Purpose: `memtrace postmortem`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/wording/text_lines.h"

namespace memtrace::cli {

struct PostmortemArguments {
  std::string trace; // "": the newest job
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> attempt;
  std::vector<std::string> evidence; // files
  std::string format = "text";
  std::string output; // "": stdout
};

// Returns the text for `memtrace run` about these traces of one job. Returns nullopt if no process died for
// memory.
std::optional<std::string> postmortem_of_kill(const std::vector<std::string>& traces,
                                              const report::Screen& screen);

// Returns the report in pieces, laid out for `screen`. Throws as postmortem_command does.
std::vector<std::string> explain(const PostmortemArguments& arguments, const report::Screen& screen);

// Returns what `postmortem --format json` prints. Throws as postmortem_command does.
std::string postmortem_json(const std::string& trace);

// Returns the exit status. Throws UsageError, or trace::ReadError if no trace could be read.
int postmortem_command(const PostmortemArguments& arguments);

} // namespace memtrace::cli
