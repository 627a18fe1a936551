// Room: report.
// Job: a ledger as a table for people.
#pragma once

#include "report/ledger.h"
#include "report/lines.h"

namespace memtrace::report {

void write_ledger(const Ledger& ledger, Lines& lines);

} // namespace memtrace::report
