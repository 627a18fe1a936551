// Purpose: the rows that are left of steps whose events were folded away.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preload/format/rollup_layout.h"

namespace memtrace::trace {

// The half of STEM.coarse that holds. Rows are those that are in use and whose bucket lies within the steps
// that were folded; they come in the order of the file, and one key may come more than once.
struct RollupRows {
  format::RollupHeader header{};
  format::RollupHalf half{};
  std::vector<format::PhaseRow> phases;
  std::vector<format::SiteRow> sites;
  std::uint64_t refused = 0; // rows that make no sense
};

struct RollupFile {
  std::uint64_t bytes = 0; // 0: there is no such file
  std::optional<RollupRows> rollup;
};

// The file may be written to meanwhile: a half that was replaced while it was read is read again.
RollupFile read_rollup(const std::string& path, std::uint64_t trace_id);

} // namespace memtrace::trace
