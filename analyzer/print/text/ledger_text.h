// Purpose: writes a ledger as a table of text.
#pragma once

#include <string>

#include "analyzer/rss/cgroup_breakdown.h"
#include "analyzer/rss/headroom.h"
#include "analyzer/rss/job_pss.h"
#include "analyzer/rss/rss_ledger.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// `highest`: the most resident bytes that the process had; see highest_resident().
void write_ledger(const RssLedger& ledger, std::uint64_t highest, Lines& lines);
// Writes the ledger of a process as one paragraph, with its remarks.
void write_ledger_summary(const RssLedger& ledger, std::uint64_t highest, Lines& lines);
// Writes the ledger of a cgroup or a machine as a sentence.
void write_ledger_line(const RssLedger& ledger, Lines& lines);

// Writes a limit, and how much of it the program needed, used and never used, as a sentence.
void write_headroom(const Headroom& headroom, Lines& lines);

// Writes the processes of a job, the sum of their memory, and what its cgroup is charged beside, as a table.
// The processes that hold least are one row if there are more than 20.
void write_job_ledger(const JobLedger& ledger, Lines& lines);

// Returns the line about all processes together, with its line end.
std::string family_line(const Family& family, const Screen& screen);
// Returns the lines about all processes together and about each, with line ends.
std::string family_text(const Family& family, const Screen& screen);

} // namespace memtrace::report
