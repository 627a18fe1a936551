// Room: report.
// Job: the parts of a report as JSON, key for key as the contract has it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "analyzer/report/view.h"

namespace memtrace::report {

using Json = nlohmann::ordered_json;

// Null for no stack.
Json site_json(View& view, format::StackId stack);
Json row_json(View& view, const fold::Holding& row);
Json finding_json(const Finding& finding, Json site);

// One set of rows: the largest `top` with their sites, what is left by kind and role, and last what no record
// tells of, so that bytes add up to `total`.
Json at_peak(View& view, const fold::Holdings& holdings, std::int64_t total, std::size_t top);

// A process in three parts: what comes before its `phases`, each of these, and what comes after. The phases of
// all steps may be a hundred times larger than the rest.
Json process_before_phases(const View& view);
void each_phase(View& view, const Options& options, const std::function<void(const Json&)>& take);
Json process_after_phases(View& view, const Options& options);

} // namespace memtrace::report
