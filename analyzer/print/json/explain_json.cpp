// Purpose: writes memtrace.explain/1, and its rows in a report.
#include "analyzer/print/json/explain_json.h"

#include <utility>

namespace memtrace::report {
namespace {

const char* state_name(KeptRow::Retention state) {
  switch (state) {
    case KeptRow::Retention::live:
      return "live";
    case KeptRow::Retention::kept_by_malloc:
      return "kept_by_malloc";
    case KeptRow::Retention::freed:
      break;
  }
  return "freed";
}

Json late_json(const KeptRow& row) {
  if (row.late == 0) return nullptr;
  return {{"bytes", row.late}, {"phase", row.late_phase}, {"step", step_json(row.late_step)}};
}

Json row_of(const Explanation& from, const KeptRow& row, bool kept) {
  return {{"name", row.name},
          {"memory", memory_name(from.memory)},
          {"role", replay::role_name(row.role)},
          {"kind", format::kKindNames[static_cast<std::size_t>(row.kind)]},
          {"asked", row.asked},
          {"bytes", row.bytes},
          {"resident", row.resident},
          {"came_later", late_json(row)},
          {"per_parameter", from.per_parameter(row.resident)},
          {"theory", row.theory ? Json(*row.theory) : Json(nullptr)},
          {"kept", kept},
          {"state", state_name(row.state)},
          {"phase", row.phase},
          {"step", step_json(row.step)},
          {"site", site_json(*from.analysis, row.stack)}};
}

Json rows_of(const Explanation& from) {
  Json rows = Json::array();
  for (const KeptRow& row : from.kept) rows.push_back(row_of(from, row, true));
  for (const KeptRow& row : from.transient) rows.push_back(row_of(from, row, false));
  return rows;
}

} // namespace

Json rows_json(ProcessAnalysis& analysis) {
  Json out = Json::array();
  if (!analysis.account.last_update || !analysis.facts().parameters || analysis.facts().parameters->count == 0)
    return out;
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    if (peaks.tensor.bytes <= 0) continue;
    for (Json& row : rows_of(explain(analysis, memory, std::nullopt))) out.push_back(std::move(row));
  }
  return out;
}

Json explain_json(const Explanation& from, std::optional<std::uint64_t> project) {
  Json parts = Json::array();
  for (const PartOfStep& part : from.parts)
    parts.push_back({{"name", part.name},
                     {"step", static_cast<std::int64_t>(part.step)},
                     {"kept", from.per_parameter(part.kept)},
                     {"transient", from.per_parameter(part.transient)}});
  Json dtypes = Json::object();
  for (const auto& [name, count] : from.analysis->facts().parameters_by_dtype) dtypes[name] = count;
  const auto optimizer = from.analysis->facts().note("optimizer");
  const double kept = from.per_parameter(from.kept_bytes());
  Json out = {{"schema", "memtrace.explain/1"},
              {"parameters", {{"count", from.parameters}, {"by_dtype", std::move(dtypes)}}},
              {"setup",
               {{"optimizer", optimizer ? Json(*optimizer) : Json(nullptr)},
                {"memory", memory_name(from.memory)},
                {"after_step", static_cast<std::int64_t>(from.step)}}},
              {"kept", kept},
              {"theory", from.theory ? Json(*from.theory) : Json(nullptr)},
              {"rows", rows_of(from)},
              {"parts_of_step", std::move(parts)},
              {"not_per_parameter", from.beside},
              {"model_bytes", from.model_sum()},
              {"alive", from.alive},
              {"kept_by_pinned_cache", from.pinned_idle},
              {"unaccounted", from.per_parameter(from.unaccounted)}};
  if (project) out["project"] = {{"parameters", *project}, {"bytes", kept * static_cast<double>(*project)}};
  return out;
}

} // namespace memtrace::report
