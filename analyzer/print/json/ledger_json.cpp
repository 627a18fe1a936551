// Purpose: writes ledgers as JSON: of a process, its cgroup and machine, its GPUs and its family.
#include "analyzer/print/json/ledger_json.h"

#include "analyzer/print/json/segments_json.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/rss/headroom.h"
#include "analyzer/rss/rss_ledger.h"

namespace memtrace::report {
namespace {

// Adds a ledger for each sampled GPU at its highest use. Memory without an allocation is the residual: the
// context, kernel code and local memory. No other source measures it.
void add_card_ledgers(const ProcessAnalysis& analysis, Json& out) {
  for (const auto& [memory, gpu] : analysis.account.device_usage) {
    Json rows = Json::array();
    rows.push_back({{"name", "live"}, {"bytes", gpu.live}, {"how", "measured"}});
    std::int64_t known = gpu.live;
    if (gpu.pools != 0) {
      rows.push_back({{"name", "cached by the driver's pools"}, {"bytes", gpu.pools}, {"how", "measured"}});
      known = replay::wrapping_add(known, gpu.pools);
    }
    out.push_back({{"scope", "device"},
                   {"memory", memory_name(memory)},
                   {"at", "peak_used"},
                   {"of", gpu.own ? "process" : "card"},
                   {"total", gpu.peak->bytes},
                   {"high_water", gpu.peak->bytes},
                   {"card", gpu.gpu == format::kNotSaid ? Json(nullptr) : Json(gpu.gpu)},
                   {"others", gpu.others},
                   {"others_used", gpu.others_used == format::kNotSaid ? Json(nullptr) : Json(gpu.others_used)},
                   {"code_at_least", gpu.code},
                   {"residual_parts", gpu.alone() ? residual_json(gpu) : Json(nullptr)},
                   {"rows", std::move(rows)},
                   {"residual", replay::wrapping_sub(gpu.peak->bytes, known)}});
  }
}

Json ledger_json(const RssLedger& ledger) {
  Json rows = Json::array();
  for (const RssRow& row : ledger.rows) {
    Json one = {{"name", row.name}, {"bytes", row.bytes}, {"how", row.sampled ? "sampled" : "measured"}};
    if (row.given) one["given"] = *row.given;
    if (row.parts) one["parts"] = *row.parts;
    rows.push_back(std::move(one));
  }
  Json out = {{"scope", ledger.scope},   {"memory", "host"},           {"at", ledger.at},
              {"t", ledger.t},           {"total", ledger.total},      {"high_water", ledger.high_water},
              {"rows", std::move(rows)}, {"residual", ledger.residual}};
  if (!ledger.of.empty()) out["of"] = ledger.of;
  if (ledger.swap) out["swap"] = *ledger.swap;
  if (!ledger.nodes.empty()) {
    Json& nodes = out["numa"] = Json::array();
    for (const trace::NumaNode& one : ledger.nodes)
      nodes.push_back({{"node", one.node}, {"anonymous", one.anon}, {"page_cache", one.file}});
  }
  if (!ledger.remarks.empty()) out["remarks"] = ledger.remarks;
  return out;
}

} // namespace

Json ledgers_json(const ProcessAnalysis& analysis, const Options& options) {
  Json out = Json::array();
  if (!options.memory || *options.memory == "host")
    for (const RssLedger& ledger : ledgers(analysis)) out.push_back(ledger_json(ledger));
  add_card_ledgers(analysis, out);
  return out;
}

Json headroom_json(const ProcessAnalysis& analysis, const Options& options) {
  Json out = Json::array();
  for (const Headroom& one : headrooms(analysis)) {
    if (options.memory && *options.memory != memory_name(one.memory)) continue;
    out.push_back({{"of", one.of},
                   {"name", one.name.empty() ? Json(nullptr) : Json(one.name)},
                   {"memory", memory_name(one.memory)},
                   {"limit", one.limit},
                   {"soft", one.soft},
                   {"needed", one.needed ? Json(*one.needed) : Json(nullptr)},
                   {"used", one.used},
                   {"never_used", one.never_used()}});
  }
  return out;
}

Json family_json(const Family& family) {
  Json ledger = ledger_json(family.ledger);
  Json& members = ledger["members"] = Json::array();
  for (const Family::Member& member : family.members)
    members.push_back({{"pid", member.pid},
                       {"rss", member.share.resident},
                       {"pss", member.share.pss},
                       {"private_dirty", member.share.private_dirty}});
  return ledger;
}

} // namespace memtrace::report
