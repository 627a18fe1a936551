// Purpose: reads the rollup: the rows of steps whose events were dropped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preload/format/rollup_layout.h"

namespace memtrace::trace {

// The half of STEM.coarse that is valid. It has the rows that are in use and whose step range is in the steps
// that were rolled up. They are in the order of the file, and a key may occur more than once.
struct RollupRows {
  format::RollupHeader header{};
  format::RollupHalf half{};
  std::vector<format::PhaseRow> phases;
  std::vector<format::SiteRow> sites;
  std::uint64_t refused = 0; // invalid rows
};

struct RollupFile {
  std::uint64_t bytes = 0; // 0: there is no such file
  std::optional<RollupRows> rollup;
  std::uint16_t newer = 0; // not 0: the file is of this version, which this memtrace does not know
};

// Reads the file, which may be written to meanwhile. If a half was replaced while it was read, it is read
// again.
RollupFile read_rollup(const std::string& path, std::uint64_t trace_id);

} // namespace memtrace::trace
