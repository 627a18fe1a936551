// Purpose: a ledger as a table for people.
#pragma once

#include <string>

#include "analyzer/rss/job_pss.h"
#include "analyzer/rss/rss_ledger.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

void write_ledger(const RssLedger& ledger, Lines& lines);
// In a sentence: of a cgroup, of a node.
void write_ledger_line(const RssLedger& ledger, Lines& lines);

// The processes together, and each of them. Lines, with their ends.
std::string family_text(const Family& family, bool color);

} // namespace memtrace::report
