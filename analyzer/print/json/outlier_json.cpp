// Purpose: writes the ranks and hosts that differ, and the rank that failed first, as JSON.
#include "analyzer/print/json/outlier_json.h"

namespace memtrace::report {

namespace {

Json row_json(const OutlierRow& row) {
  return {{"role", row.role},
          {"bytes", row.here},
          {"others", row.there},
          {"site", row.site ? site_json(*row.site) : Json(nullptr)}};
}

Json dead_json(const std::vector<DeadRank>& ranks) {
  Json out = Json::array();
  for (const DeadRank& rank : ranks)
    out.push_back(
        {{"rank", rank.rank}, {"host", rank.host}, {"ended", rank.ended}, {"duration", rank.seconds}});
  return out;
}

} // namespace

Json capacity_json(const std::vector<CapacityLimit>& limits) {
  constexpr double kGibHour = 3600.0 * (1 << 30);
  Json each = Json::array();
  double all = 0, unused = 0, cached = 0;
  for (const CapacityLimit& one : limits) {
    all += one.byte_seconds();
    unused += one.never_used();
    cached += one.cached_seconds.value_or(0);
    each.push_back({{"of", one.of},
                    {"host", one.host},
                    {"name", one.name.empty() ? Json(nullptr) : Json(one.name)},
                    {"ranks", one.ranks},
                    {"limit", one.limit},
                    {"needed", one.needed ? Json(*one.needed) : Json(nullptr)},
                    {"used", one.used},
                    {"hours", one.seconds() / 3600},
                    {"gib_hours", one.byte_seconds() / kGibHour},
                    {"never_used", one.never_used() / kGibHour},
                    {"cached", one.cached_seconds ? Json(*one.cached_seconds / kGibHour) : Json(nullptr)}});
  }
  return {{"all", all / kGibHour},
          {"never_used", unused / kGibHour},
          {"cached", cached / kGibHour},
          {"limits", std::move(each)}};
}

Json host_outliers_json(const std::vector<HostOutlier>& hosts) {
  Json out = Json::array();
  for (const HostOutlier& host : hosts)
    out.push_back({{"host", host.host},
                   {"what", host.what},
                   {"bytes", host.bytes},
                   {"others", {{"count", host.others}, {"median", host.median}}},
                   {"ranks", host.ranks}});
  return out;
}

Json clocks_json(const HostClocks& clocks) {
  Json out = Json::array();
  for (const auto& [host, clock] : clocks.all())
    out.push_back(
        {{"host", host}, {"ahead", clock.ahead}, {"error", clock.error}, {"measured", clock.measured}});
  return out;
}

Json first_death_json(const std::optional<FirstDeath>& death) {
  if (!death) return nullptr;
  return {{"first", dead_json(death->first)},  {"followed", dead_json(death->followed)},
          {"did_not_fail", death->others},     {"later", {death->least_later, death->most_later}},
          {"clock_error", death->clock_error}, {"clocks_compared", death->clocks_compared}};
}

Json outlier_json(const Outlier& outlier) {
  Json rows = Json::array();
  for (const OutlierRow& row : outlier.rows) rows.push_back(row_json(row));
  Json coordinates;
  for (const trace::Coordinate& one : outlier.coordinates) coordinates[one.axis] = one.place;
  return {{"rank", outlier.rank},
          {"coordinates", std::move(coordinates)},
          {"pid", outlier.pid},
          {"memory", outlier.memory},
          {"bytes", outlier.bytes},
          {"phase", outlier.phase},
          {"step", step_json(outlier.step)},
          {"others",
           {{"count", outlier.others},
            {"least", outlier.least},
            {"median", outlier.median},
            {"most", outlier.most}}},
          {"row", row_json(outlier.rows.empty() ? OutlierRow{} : outlier.rows.front())},
          {"rows", std::move(rows)}};
}

} // namespace memtrace::report
