// Purpose: writes what a report has of one process as JSON, with the keys of memtrace.report/1.
#include "analyzer/print/json/process_json.h"
#include "analyzer/print/json/rare_steps_json.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/explain/rings_only.h"
#include "analyzer/explain/segment_use.h"
#include "analyzer/explain/uncertainty.h"
#include "analyzer/job/worker_parent.h"
#include "analyzer/print/json/cycles_json.h"
#include "analyzer/print/json/explain_json.h"
#include "analyzer/print/json/finding_json.h"
#include "analyzer/print/json/ledger_json.h"
#include "analyzer/print/json/pauses_json.h"
#include "analyzer/print/json/peaks_json.h"
#include "analyzer/print/json/phase_peaks_json.h"
#include "analyzer/print/json/snapshots_json.h"
#include "analyzer/trace/coordinates.h"
#include "analyzer/wording/torch_snapshot_text.h"

namespace memtrace::report {
namespace {

using replay::MemoryId;

std::string uuid(const std::uint8_t (&bytes)[16]) {
  std::string out = "GPU-";
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", bytes[i]);
  }
  return out;
}

Json rank_json(std::uint32_t rank) {
  return rank == trace::kNoRank ? Json(nullptr) : Json(rank);
}

Json coordinates_json(const trace::Facts& facts) {
  Json out;
  for (const trace::Coordinate& one : trace::coordinates_of(facts)) out[one.axis] = one.place;
  return out;
}

Json argv_json(const std::string& joined) {
  Json out = Json::array();
  for (std::size_t at = 0; at < joined.size();) {
    const std::size_t end = std::min(joined.find('\0', at), joined.size());
    out.push_back(std::string_view(joined).substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Returns the steps that exist only as rows of their range.
Json buckets_json(const ProcessAnalysis& analysis) {
  const replay::Coverage covered = replay::coverage(analysis.buckets, analysis.account);
  if (covered.buckets == 0) return analysis.losses.rows_missing ? Json("missing") : Json(nullptr);
  return {{"steps", steps_json(covered.steps)}, {"count", covered.buckets}, {"width", analysis.buckets.width}};
}

Json error_json(const Uncertainty& error) {
  return {{"below", error.below}, {"above", error.above}};
}

// Adds the times in which only the rings were written, if there were any.
void add_rings_only(const ProcessAnalysis& analysis, Json& trace) {
  for (const RingsOnly& time : rings_only(analysis))
    trace["rings_only"].push_back(
        {{"why", time.why},
         {"from", analysis.seconds(time.from)},
         {"until", time.until != 0 ? Json(analysis.seconds(time.until)) : Json(nullptr)}});
}

// Returns null if the trace is not a snapshot of PyTorch.
Json torch_snapshot_json(const trace::Facts& facts) {
  const auto history = torch_history(facts);
  if (!history) return nullptr;
  return {{"events", history->events}, {"older", history->older}};
}

// Returns what this memtrace does not read, because a newer one wrote it. Returns null if there is nothing.
Json newer_json(const trace::NewerParts& newer) {
  if (newer.version == 0) return nullptr;
  return {{"version", newer.version}, {"segments", newer.segments}, {"of_segments", newer.all},
          {"bytes", newer.bytes},     {"rings", newer.rings},       {"rows", newer.rollup}};
}

Json trace_json(const ProcessAnalysis& analysis) {
  const trace::Facts& facts = analysis.facts();
  const format::LostBlocks& lost = facts.lost_blocks;
  const auto own = analysis.own_bytes();
  Json reasons = Json::object();
  for (const auto& [reason, count] : analysis.losses.events) reasons[reason] = count;
  Json source = nullptr;
  for (const auto& [memory, device] : facts.devices) {
    if (!device.source.empty()) source = device.source;
  }
  const auto cupti = facts.note("cupti");
  const std::string& written_by = analysis.trace->writer();
  Json trace = {
      {"bytes", analysis.trace->bytes()},
      {"events", analysis.account.counts.records},
      {"lost_events", analysis.losses.total()},
      {"lost_reasons", std::move(reasons)},
      {"coarsened_events", analysis.losses.coarsened},
      {"live_error", analysis.account.counts.small_error()},
      {"exact_min", facts.exact_min},
      {"sample_bytes", facts.sample_bytes},
      {"device_source", std::move(source)},
      {"lost_births", {{"events", lost.births}, {"bytes", lost.birth_bytes}}},
      {"lost_deaths", {{"events", lost.deaths}, {"bytes", lost.death_bytes}}},
      {"error",
       {{"live", error_json(live_error(analysis))},
        {"peak", error_json(peak_error(analysis))},
        {"tensor", error_json(tensor_error(analysis))}}},
      {"cupti", cupti ? Json(*cupti) : Json(nullptr)},
      {"damaged_bytes", analysis.losses.damaged_bytes},
      {"damaged_file", analysis.losses.damaged_bytes != 0 ? Json(analysis.losses.damaged_file) : Json(nullptr)},
      {"damaged_at", analysis.losses.damaged_bytes != 0 ? Json(analysis.losses.damaged_at) : Json(nullptr)},
      {"unknown_deaths", analysis.account.unknown_deaths},
      {"buckets", buckets_json(analysis)},
      {"own_bytes", own ? Json(*own) : Json(nullptr)},
      {"cut_stacks", analysis.losses.cut_stacks},
      {"pauses", pauses_json(analysis)},
      {"written_by", written_by.empty() ? Json(nullptr) : Json(written_by)},
      {"newer", newer_json(analysis.trace->newer())},
      {"torch_snapshot", torch_snapshot_json(facts)},
      {"left_out_events", analysis.losses.left_out}};
  add_rings_only(analysis, trace);
  return trace;
}

Json parameters_json(const trace::Facts& facts) {
  if (!facts.parameters) return nullptr;
  Json dtypes = Json::object();
  for (const auto& [name, count] : facts.parameters_by_dtype) dtypes[name] = count;
  return {{"count", facts.parameters->count},
          {"trainable", facts.parameters->trainable},
          {"bytes", facts.parameters->bytes},
          {"tensors", facts.parameters->tensors},
          {"by_dtype", std::move(dtypes)}};
}

Json devices_json(const ProcessAnalysis& analysis) {
  Json out = Json::array();
  for (const auto& [memory, device] : analysis.facts().devices) {
    const auto unknown = why_use_is_unknown(analysis, static_cast<MemoryId>(memory));
    out.push_back({{"memory", memory_name(static_cast<MemoryId>(memory))},
                   {"uuid", uuid(device.uuid)},
                   {"name", device.name},
                   {"total", device.total},
                   {"used_is_unknown", unknown ? Json(*unknown) : Json(nullptr)}});
  }
  return out;
}

Json devices_before_json(const trace::HeldBefore& before) {
  Json out = Json::array();
  for (const auto& [memory, held] : before.devices)
    out.push_back({{"memory", memory_name(static_cast<MemoryId>(memory))},
                   {"live", held.live},
                   {"tensor", held.tensor},
                   {"reserved", held.reserved}});
  return out;
}

Json end_json(const ProcessEnd& end) {
  Json evidence = Json::array();
  for (const std::string& line : end.evidence) evidence.push_back(line);
  Json out = {{"how", end.how}, {"code", end.code}, {"evidence", std::move(evidence)}};
  if (end.how != "killed_by_manager") return out;
  out["manager"] = end.manager;
  out["for_memory"] = end.for_memory;
  out["after"] = end.after.empty() ? Json(nullptr) : Json(end.after);
  return out;
}

} // namespace

Json process_before_phases(const ProcessAnalysis& analysis) {
  const trace::Facts& facts = analysis.facts();
  Json out = {{"pid", facts.pid},
              {"ppid", facts.ppid},
              {"host", facts.host},
              {"exe", facts.exe},
              {"argv", argv_json(facts.argv)},
              {"kind", analysis.kind},
              {"rank", rank_json(facts.rank)},
              {"local_rank", rank_json(facts.local_rank)},
              {"coordinates", coordinates_json(facts)},
              {"devices", devices_json(analysis)},
              {"start_unix", static_cast<double>(facts.start_unix_ns) / 1e9},
              {"duration", analysis.seconds(facts.last_stamp)},
              {"end", end_json(analysis.end)},
              {"trace", trace_json(analysis)},
              {"parameters", parameters_json(facts)}};
  if (const auto& before = facts.before)
    out["before_recording"] = {{"t", analysis.seconds(before->stamp)},
                               {"live", before->live + before->small},
                               {"small", before->small},
                               {"tensor", before->tensor},
                               {"devices", devices_before_json(*before)}};
  if (analysis.kind == "worker") out["worker_of"] = worker_parent(facts);
  return out;
}

Json process_after_phases(ProcessAnalysis& analysis, const Findings& found, const Options& options) {
  Json findings = Json::array();
  for (const Finding& finding : found)
    findings.push_back(finding_json(finding, site_json(analysis, finding.site)));
  return {{"phase_peaks", phase_peaks_json(analysis, options)},
          {"peaks", peaks_json(analysis, options)},
          {"snapshots", snapshots_json(analysis, options)},
          {"snapshots_left_out", analysis.account.instants.left_out()},
          {"ledger", ledgers_json(analysis, options)},
          {"headroom", headroom_json(analysis, options)},
          {"bytes_per_parameter", rows_json(analysis)},
          {"cycles", cycles_json(analysis)},
          {"rare_steps", rare_steps_json(analysis)},
          {"findings", std::move(findings)}};
}

} // namespace memtrace::report
