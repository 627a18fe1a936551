// Room: report.
// Job: a ledger as a table for people.
#pragma once

#include <string>

#include "analyzer/report/family.h"
#include "analyzer/report/ledger.h"
#include "analyzer/report/lines.h"

namespace memtrace::report {

void write_ledger(const Ledger& ledger, Lines& lines);
// In a sentence: of a cgroup, of a node.
void write_ledger_line(const Ledger& ledger, Lines& lines);

// The processes together, and each of them. Lines, with their ends.
std::string family_text(const Family& family, bool color);

} // namespace memtrace::report
