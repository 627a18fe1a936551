// Purpose: writes the blocks alive at an instant as JSON.
#include "analyzer/print/json/holdings_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/attribute/module_patterns.h"
#include "analyzer/attribute/sample_error.h"

namespace memtrace::report {
namespace {

using replay::Holding;

// Returns a row that completes a sum. Only its size is known.
Json rest_json(std::int64_t bytes, std::uint64_t asked, std::uint64_t blocks, const char* kind,
               const char* role) {
  return {{"bytes", bytes},       {"asked", asked},      {"blocks", blocks}, {"kind", kind},
          {"role", role},         {"module", nullptr},   {"site", nullptr},  {"born_phase", nullptr},
          {"born_step", nullptr}, {"lifetime", nullptr}, {"how", "measured"}};
}

Json module_json(const ProcessAnalysis& analysis, format::TextId module) {
  if (module == format::TextId{}) return nullptr;
  return std::string(replay::module_pattern(analysis.trace->definitions().text(module)));
}

// Returns what the memory is, if the role alone does not tell: "exp_avg", "cuBLAS".
std::string name_of(const ProcessAnalysis& analysis, const Holding& row) {
  return row.name == format::TextId{} ? row.made_as : analysis.trace->definitions().text(row.name);
}

using SiteKey =
    std::tuple<format::StackId, format::Kind, replay::Role, bool, replay::NameId, replay::Step, bool>;

SiteKey site_key(const Holding& row) {
  return {row.stack, row.kind, row.role, row.tensor, row.born_phase, row.born_step, row.sampled};
}

// Returns the largest `top`. The rows of a site that differ only by their modules take one place: a layer more
// must not push another site out.
std::set<SiteKey> largest_sites(const replay::Holdings& holdings, std::size_t top) {
  std::map<SiteKey, std::uint64_t> bytes;
  for (const Holding& row : holdings) bytes[site_key(row)] += row.bytes;
  std::vector<std::pair<std::uint64_t, SiteKey>> order;
  order.reserve(bytes.size());
  for (const auto& [key, sum] : bytes) order.emplace_back(sum, key);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::set<SiteKey> out;
  for (std::size_t i = 0; i < std::min(top, order.size()); ++i) out.insert(order[i].second);
  return out;
}

} // namespace

Json row_json(ProcessAnalysis& analysis, const Holding& row) {
  Json out = {{"bytes", row.bytes},
              {"asked", row.asked},
              {"blocks", row.blocks},
              {"kind", format::kKindNames[static_cast<std::size_t>(row.kind)]},
              {"role", replay::role_name(row.role)},
              {"module", module_json(analysis, row.module)},
              {"site", site_json(analysis, row.stack)},
              {"born_phase", analysis.account.paths.text(row.born_phase)},
              {"born_step", step_json(row.born_step)},
              {"lifetime", static_cast<double>(row.lifetime) / 1e9},
              {"how", row.sampled ? "sampled" : "measured"}};
  if (row.module != format::TextId{}) out["modules"] = row.modules.size();
  if (const std::string name = name_of(analysis, row); !name.empty()) out["name"] = name;
  if (row.sampled) out["error"] = row.error;
  if (row.kind == format::Kind::heap || row.kind == format::Kind::mmap_anon) out["resident"] = row.resident;
  if (row.untouched != 0) out["untouched"] = row.untouched; // of reservations
  if (row.late != 0)
    out["came_later"] = {{"bytes", row.late},
                         {"phase", analysis.account.paths.text(row.late_phase)},
                         {"step", step_json(row.late_step)}};
  return out;
}

Json at_peak(ProcessAnalysis& analysis, const replay::Holdings& holdings, std::int64_t total, std::size_t top) {
  struct Rest {
    std::uint64_t bytes = 0, asked = 0, blocks = 0;
    double variance = 0; // the sum of squared 95 % errors of the sampled bytes
  };
  Json rows = Json::array();
  std::map<std::tuple<format::Kind, replay::Role, bool>, Rest> rests;
  std::uint64_t told = 0;
  const std::set<SiteKey> shown = largest_sites(holdings, top);
  for (const Holding& holding : holdings) {
    told += holding.bytes;
    if (shown.contains(site_key(holding))) {
      rows.push_back(row_json(analysis, holding));
      continue;
    }
    Rest& rest = rests[{holding.kind, holding.role, holding.sampled}];
    rest.bytes += holding.bytes;
    rest.asked += holding.asked;
    rest.blocks += holding.blocks;
    rest.variance += static_cast<double>(holding.error) * static_cast<double>(holding.error);
  }
  for (const auto& [which, rest] : rests) {
    const auto& [kind, role, sampled] = which;
    Json row = rest_json(static_cast<std::int64_t>(rest.bytes), rest.asked, rest.blocks,
                         format::kKindNames[static_cast<std::size_t>(kind)], replay::role_name(role));
    if (sampled) {
      row["how"] = "sampled";
      row["error"] = replay::rounded(std::sqrt(rest.variance));
    }
    rows.push_back(std::move(row));
  }
  // Small blocks and memory inherited at fork are counted exactly, but not recorded one by one.
  const auto untold = static_cast<std::int64_t>(static_cast<std::uint64_t>(total) - told);
  if (untold != 0) rows.push_back(rest_json(untold, 0, 0, "heap", "unknown"));
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return a["bytes"].get<std::int64_t>() > b["bytes"].get<std::int64_t>();
  });
  return rows;
}

Json at_peak(ProcessAnalysis& analysis, const replay::Instant& instant, std::int64_t total, std::size_t top) {
  return at_peak(analysis, analysis.set(instant), total, top);
}

} // namespace memtrace::report
