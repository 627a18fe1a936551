// Purpose: writes `death` of memtrace.postmortem/1.
#include "analyzer/print/json/postmortem_json.h"

#include "analyzer/explain/block_owner.h"
#include "analyzer/print/json/holdings_json.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

Json birth_json(ProcessAnalysis& analysis, const replay::RecentBirth& birth) {
  return {
      {"t", analysis.seconds(birth.stamp)}, {"bytes", birth.bytes}, {"site", site_json(analysis, birth.stack)}};
}

Json filling_json(ProcessAnalysis& analysis, const std::optional<BlockBeingFilled>& filling) {
  if (!filling) return nullptr;
  Json out = {{"bytes", filling->block.bytes},
              {"touched", nullptr},
              {"site", site_json(analysis, filling->block.stack)}};
  if (filling->touched) out["touched"] = *filling->touched;
  return out;
}

// Returns the rows that held memory. Their roles also come from the names of sites, not only from the course of
// the program.
Json held_json(ProcessAnalysis& analysis, replay::Measure measure, std::int64_t total, std::size_t top) {
  replay::Holdings holdings = analysis.set({analysis.death->then.memory, measure, analysis.death->then.at});
  for (replay::Holding& holding : holdings) holding.role = owner_of(analysis, holding).role;
  return at_peak(analysis, holdings, total, top);
}

Json growth_json(const ProcessAnalysis& analysis) {
  Json out = Json::array();
  for (const replay::Moment& moment : analysis.death->last.course)
    out.push_back(
        {{"t", analysis.seconds(moment.stamp)}, {"live", moment.level.live}, {"tensor", moment.level.tensor}});
  return out;
}

} // namespace

Json death_json(ProcessAnalysis& analysis, std::size_t top) {
  if (!analysis.death) return nullptr;
  const Death& death = *analysis.death;
  Json last = Json::array();
  for (const replay::RecentBirth& birth : death.then.births) last.push_back(birth_json(analysis, birth));
  const replay::Step step = death.then.place.step;
  return {
      {"t", analysis.seconds(death.then.stamp)},
      {"unrecorded", analysis.end.witness.unrecorded},
      {"phase", analysis.account.paths.text(analysis.account.paths.last(death.then.place.path))},
      {"step", step == replay::Step::none ? Json(nullptr) : Json(static_cast<std::int64_t>(step))},
      {"memory", memory_name(death.then.memory)},
      {"live", death.then.level.live},
      {"tensor", death.then.level.tensor},
      {"rss", {{"anon", death.resident.anon}, {"file", death.resident.file}, {"shmem", death.resident.shmem}}},
      {"limit", death.limit ? Json(*death.limit) : Json(nullptr)},
      {"limit_of", death.limit ? Json(death.limit_of) : Json(nullptr)},
      {"filling", filling_json(analysis, death.filling)},
      {"last", std::move(last)},
      {"held", held_json(analysis, replay::Measure::live, death.then.level.live, top)},
      {"held_tensor", held_json(analysis, replay::Measure::tensor, death.then.level.tensor, top)},
      {"growth", growth_json(analysis)}};
}

Json ledger_json(const JobLedger& ledger) {
  Json rows = Json::array();
  std::uint64_t sum = 0;
  for (const JobLedger::NamedBytes& line : ledger.lines) {
    if (!line.counted) continue;
    rows.push_back({{"name", line.name}, {"bytes", line.bytes}, {"how", "measured"}});
    sum += line.bytes;
  }
  const bool charged = ledger.total.has_value();
  return {{"scope", charged ? "cgroup" : "family"},
          {"memory", "host"},
          {"at", "death"},
          {"of", charged ? Json(ledger.of) : Json(nullptr)},
          {"total", ledger.total.value_or(sum)},
          {"rows", std::move(rows)},
          {"residual", charged ? ledger.residual : 0}};
}

} // namespace memtrace::report
