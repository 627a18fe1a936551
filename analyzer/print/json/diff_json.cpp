// Purpose: writes memtrace.diff/1.
#include "analyzer/print/json/diff_json.h"

#include <cmath>
#include <utility>

namespace memtrace::report {
namespace {

Json row_of(const DiffRow& row) {
  const bool named = row.analysis != nullptr;
  Json out = {{"bytes_a", row.a},
              {"bytes_b", row.b},
              {"change", row.change()},
              {"phase", named ? Json(row.phase) : Json(nullptr)},
              {"role", replay::role_name(row.role)},
              {"kind", format::kKindNames[static_cast<std::size_t>(row.kind)]},
              {"site", named ? site_json(*row.analysis, row.stack) : Json(nullptr)},
              {"how", row.variance > 0 ? "sampled" : "measured"}};
  if (row.variance > 0) out["error"] = static_cast<std::int64_t>(std::sqrt(row.variance));
  return out;
}

Json side_json(const DiffSide& side) {
  return {{"name", side.name},
          {"pid", side.analysis->facts().pid},
          {"memory", memory_name(side.memory)},
          {"phase", side.analysis->account.paths.text(side.analysis->account.paths.last(side.peak.path))},
          {"step", side.peak.step == replay::Step::none ? Json(nullptr)
                                                        : Json(static_cast<std::int64_t>(side.peak.step))},
          {"bytes", side.peak.bytes}};
}

} // namespace

Json diff_json(const Diff& diff, std::size_t top) {
  Json rows = Json::array();
  const ShortDiff shortened = shorten(diff, top, 0);
  for (std::size_t i = 0; i < shortened.shown; ++i) rows.push_back(row_of(diff.rows[i]));
  if (shortened.left != 0) {
    rows.push_back(row_of(shortened.rest));
    rows.back()["kind"] = nullptr; // the row sums several kinds
  }
  return {{"schema", "memtrace.diff/1"},
          {"a", diff.a.where},
          {"b", diff.b.where},
          {"memory", memory_name(diff.of.memory)},
          {"measure", diff.of.measure == replay::Measure::tensor ? "tensor" : "live"},
          {"total", diff.total()},
          {"sides", {side_json(diff.a), side_json(diff.b)}},
          {"rows", std::move(rows)}};
}

} // namespace memtrace::report
