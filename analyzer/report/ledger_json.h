// Room: report.
// Job: ledgers as JSON: of a process and its surroundings, of its cards, of a family.
#pragma once

#include "analyzer/report/family.h"
#include "analyzer/report/site_json.h"

namespace memtrace::report {

Json ledgers_json(const View& view, const Options& options);
Json family_json(const Family& family);

} // namespace memtrace::report
