// Purpose: writes the rows of `phases`, each a phase in a step or in a range of steps, as JSON.
#include "analyzer/print/json/phase_json.h"

#include <algorithm>

#include "analyzer/print/json/holdings_json.h"

namespace memtrace::report {
namespace {

using replay::Measure;
using replay::MemoryId;

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
    return folded ? Json::array() : at_peak(analysis, {memory, measure, of.peak_at}, of.peak, top);
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

} // namespace memtrace::report
