// Purpose: writes the parts of a report as JSON, with the keys of memtrace.report/1.
#include "analyzer/print/json/process_json.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/explain/rings_only.h"
#include "analyzer/explain/segment_use.h"
#include "analyzer/explain/uncertainty.h"
#include "analyzer/job/worker_parent.h"
#include "analyzer/print/json/cycles_json.h"
#include "analyzer/print/json/explain_json.h"
#include "analyzer/print/json/finding_json.h"
#include "analyzer/print/json/holdings_json.h"
#include "analyzer/print/json/ledger_json.h"
#include "analyzer/print/json/pauses_json.h"
#include "analyzer/print/json/phase_peaks_json.h"
#include "analyzer/print/json/segments_json.h"
#include "analyzer/print/json/snapshots_json.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/torch_snapshot_text.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::Instant;
using replay::Measure;
using replay::MemoryId;
using replay::Step;

Json figures_json(const replay::Figures& figures) {
  return {{"entry_live", figures.entry},
          {"exit_live", figures.exit},
          {"peak_live", figures.peak},
          {"transient", figures.transient},
          {"net", figures.net}};
}

Json resident_json(const replay::Resident& resident) {
  return {{"anon", resident.anon}, {"file", resident.file}, {"shmem", resident.shmem}};
}

Json span_json(const std::optional<replay::ResidentSpan>& span) {
  if (!span) return nullptr;
  return {{"entry", resident_json(span->entry)},
          {"exit", resident_json(span->exit)},
          {"peak", resident_json(span->peak)}};
}

Json set_json(ProcessAnalysis& analysis, MemoryId memory, Measure measure, trace::Ordinal at,
              std::int64_t total, std::size_t top) {
  return at_peak(analysis, analysis.set({memory, measure, at}), total, top);
}

Json steps_json(const replay::StepSpan& steps) {
  return steps.first == Step::none ? Json(nullptr) : Json{step_json(steps.first), step_json(steps.last)};
}

Json bucket_json(const ProcessAnalysis& analysis, const replay::ShownRow& shown, bool steady) {
  if (steady) return {step_json(analysis.steady.steps.front()), step_json(analysis.steady.steps.back())};
  return steps_json(shown.bucket != nullptr ? shown.bucket->steps : replay::StepSpan{shown.as, shown.as});
}

Json reserved_json(const ProcessAnalysis& analysis, const replay::Figures& reserved, MemoryId memory) {
  if (!analysis.account.peaks.at(memory).reserved) return nullptr;
  return {{"entry", reserved.entry}, {"exit", reserved.exit}, {"peak", reserved.peak}};
}

// Returns null in a step range: its rows do not have the memory that the GPU showed. A figure is null if the
// GPU was not asked then.
Json used_json(const ProcessAnalysis& analysis, const replay::Figures& used, MemoryId memory, bool folded) {
  if (folded || !analysis.account.device_usage.contains(memory)) return nullptr;
  const auto known = [](std::int64_t bytes) { return bytes < 0 ? Json(nullptr) : Json(bytes); };
  return {{"entry", known(used.entry)}, {"exit", known(used.exit)}, {"peak", known(used.peak)}};
}

// Returns the smallest values of a range's steps, under the keys that have the largest values in the row.
Json least_json(const ProcessAnalysis& analysis, const replay::Row& row, MemoryId memory) {
  const replay::MemoryRow& figures = row.of(memory);
  Json out = Json::object();
  if (row.count != 0) out.update(figures_json(figures.live));
  out["allocated"] = figures.allocated;
  out["freed"] = figures.freed;
  out["allocations"] = figures.allocations;
  if (row.count == 0) return out;
  out["count"] = row.count;
  out["tensor"] = figures_json(figures.tensor);
  out["rss"] = memory == 0 ? span_json(row.rss) : Json(nullptr);
  out["reserved"] = reserved_json(analysis, figures.reserved, memory);
  return out;
}

Json births_json(ProcessAnalysis& analysis, const replay::Births& births) {
  return {{"bytes", births.bytes},
          {"count", births.count},
          {"min", births.smallest},
          {"max", births.largest},
          {"kind", format::kKindNames[static_cast<std::size_t>(births.kind)]},
          {"tensor", births.tensor},
          {"site", site_json(analysis, births.stack)},
          {"bucket", steps_json(births.steps)},
          {"how", births.sampled ? "sampled" : "measured"}};
}

// Returns the sites that allocated in the steps of a range: the largest `top`, and one row for the rest.
Json allocated_by(ProcessAnalysis& analysis, const replay::BucketRow& bucket, MemoryId memory,
                  std::size_t top) {
  Json out = Json::array();
  const std::vector<replay::Births> all = analysis.buckets.births(bucket, memory);
  for (std::size_t i = 0; i < std::min(top, all.size()); ++i) out.push_back(births_json(analysis, all[i]));
  if (all.size() <= top) return out;
  replay::Births rest = all[top];
  rest.stack = {};
  for (std::size_t i = top + 1; i < all.size(); ++i) {
    const replay::Births& one = all[i];
    rest.steps = {std::min(rest.steps.first, one.steps.first), std::max(rest.steps.last, one.steps.last)};
    rest.count += one.count;
    rest.bytes += one.bytes;
    rest.smallest = std::min(rest.smallest, one.smallest);
    rest.largest = std::max(rest.largest, one.largest);
    rest.sampled = rest.sampled || one.sampled;
    rest.tensor = rest.tensor && one.tensor;
  }
  out.push_back(births_json(analysis, rest));
  return out;
}

Json phase_json(ProcessAnalysis& analysis, const replay::ShownRow& shown, MemoryId memory, bool steady,
                std::size_t top) {
  const replay::Row& row = *shown.row;
  const replay::MemoryRow& figures = row.of(memory);
  const bool folded = shown.bucket != nullptr;
  Json path = Json::array();
  for (const std::string& name : analysis.account.paths.texts(row.path)) path.push_back(name);
  Json out = {{"memory", memory_name(memory)},
              {"phase", path.back()},
              {"path", path},
              {"step", steady ? Json("steady") : step_json(shown.as)},
              {"count", row.count},
              {"bucket", bucket_json(analysis, shown, steady)}};
  const bool levels = row.count != 0; // `other` omits them
  if (levels) out.update(figures_json(figures.live));
  out["allocated"] = figures.allocated;
  out["freed"] = figures.freed;
  out["allocations"] = figures.allocations;
  // a step range has no record of the holders at its peak
  const auto who = [&](Measure measure, const replay::Figures& of) {
    return folded ? Json::array() : set_json(analysis, memory, measure, of.peak_at, of.peak, top);
  };
  if (levels) {
    if (row.skipped) out["skipped"] = true;
    if (row.partial) out["partial"] = true;
    out["tensor"] = figures_json(figures.tensor);
    out["tensor"]["at_peak"] = who(Measure::tensor, figures.tensor);
    out["rss"] = memory == 0 ? span_json(row.rss) : Json(nullptr);
    out["reserved"] = reserved_json(analysis, figures.reserved, memory);
    out["used"] = used_json(analysis, figures.used, memory, folded);
    out["at_peak"] = who(Measure::live, figures.live);
  }
  if (!folded) return out;
  out["min"] = least_json(analysis, shown.bucket->least, memory);
  out["allocated_by"] = allocated_by(analysis, *shown.bucket, memory, top);
  return out;
}

// True if the row has no figures. Such rows are left out: a process with a GPU loads its data without the GPU.
bool silent(const replay::MemoryRow& row) {
  return row.allocated == 0 && row.freed == 0 && row.live.peak == 0 && row.tensor.peak == 0 &&
         row.reserved.peak == 0;
}

Json peak_json(const ProcessAnalysis& analysis, MemoryId memory, const char* measure, const replay::Peak& peak,
               Json rows) {
  Json out = {{"memory", memory_name(memory)},
              {"measure", measure},
              {"bytes", peak.bytes},
              {"t", peak.bucket ? Json(nullptr) : Json(analysis.seconds(peak.stamp))},
              {"phase", analysis.account.paths.text(analysis.account.paths.last(peak.path))},
              {"step", step_json(peak.step)},
              {"at_peak", peak.bucket ? Json::array() : std::move(rows)}};
  if (peak.bucket) out["bucket"] = steps_json(*peak.bucket); // the peak was in one of these steps
  return out;
}

Json peaks_json(ProcessAnalysis& analysis, const Options& options) {
  Json out = Json::array();
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    if (options.memory && memory_name(memory) != *options.memory) continue;
    out.push_back(peak_json(
        analysis, memory, "live", peaks.live,
        set_json(analysis, memory, Measure::live, peaks.live.at, peaks.live.bytes, options.peak_top)));
    if (memory == 0)
      out.back()["reserved_untouched"] = untouched(analysis.set({memory, Measure::live, peaks.live.at}));
    out.push_back(peak_json(
        analysis, memory, "tensor", peaks.tensor,
        set_json(analysis, memory, Measure::tensor, peaks.tensor.at, peaks.tensor.bytes, options.peak_top)));
    if (peaks.reserved) {
      out.push_back(peak_json(analysis, memory, "reserved", *peaks.reserved, Json::array()));
      if (const auto segments = analysis.segments.find(memory); segments != analysis.segments.end())
        out.back()["segments"] = segments_json(analysis, segments->second, options.peak_top);
    }
    if (const auto gpu = analysis.account.device_usage.find(memory);
        gpu != analysis.account.device_usage.end() && !why_use_is_unknown(analysis, memory)) {
      out.push_back(peak_json(analysis, memory, "used", *gpu->second.peak, Json::array()));
      out.back()["of"] = gpu->second.own ? "process" : "card";
      const replay::Coverage rows =
          replay::coverage(analysis.buckets, analysis.account); // their rows do not have this figure
      out.back()["not_known_in"] = rows.buckets != 0 ? steps_json(rows.steps) : Json(nullptr);
    }
    if (memory == 0 && analysis.account.rss) {
      out.push_back(peak_json(analysis, memory, "rss", *analysis.account.rss, Json::array()));
    }
  }
  return out;
}

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

// Returns null if the trace is no snapshot of PyTorch.
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
      {"torch_snapshot", torch_snapshot_json(facts)}};
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

void each_phase(ProcessAnalysis& analysis, const Options& options,
                const std::function<void(const Json&)>& take) {
  const auto give = [&](const replay::ShownRow& shown, bool steady) {
    for (const auto& [memory, peaks] : analysis.account.peaks) {
      if (options.memory && memory_name(memory) != *options.memory) continue;
      if (memory != 0 && silent(shown.row->of(memory))) continue;
      take(phase_json(analysis, shown, memory, steady, options.top));
    }
  };
  for (const replay::ShownRow& shown : analysis.shown.rows) give(shown, false);
  if (!analysis.shown.steady) return;
  for (const replay::Row& row : analysis.steady.rows) give({&row, row.step, nullptr}, true);
}

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
              {"devices", devices_json(analysis)},
              {"start_unix", static_cast<double>(facts.start_unix_ns) / 1e9},
              {"duration", analysis.seconds(facts.last_stamp)},
              {"end", end_json(analysis.end)},
              {"trace", trace_json(analysis)},
              {"parameters", parameters_json(facts)}};
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
          {"findings", std::move(findings)}};
}

} // namespace memtrace::report
