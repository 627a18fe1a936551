// Purpose: writes the table of a job's ranks: their levels by phase, and how they ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/print/text/process_summary.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// Returns "rank 3" or "ranks 0 to 2, 5", with at most four ranges. The numbers must ascend.
std::string ranks_named(const std::vector<std::uint32_t>& numbers);

// Writes a row for each rank, ordered by number. Of more than 16 ranks, those of one pipeline stage that ended
// alike and hold a similar amount share a row.
void write_rank_table(const std::vector<const ProcessSummary*>& ranks, Lines& lines);

} // namespace memtrace::report
