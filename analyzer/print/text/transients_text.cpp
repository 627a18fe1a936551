// Purpose: describes the memory that phases allocated and freed before they ended.
#include "analyzer/print/text/transients_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "analyzer/explain/allocated_figures.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

using replay::Figures;
using replay::Holding;
using replay::Measure;
using replay::Role;
using replay::Row;
using replay::Step;

constexpr std::size_t kMost = 3;  // phases
constexpr std::size_t kNamed = 2; // sites of each phase

struct Passing {
  const Row* row;
  Step step; // the step of the blocks
  bool steady;
  std::int64_t bytes;
};

Figures figures_of(const ProcessAnalysis& analysis, const Row& row, replay::MemoryId memory, Measure measure) {
  return measure == Measure::tensor ? row.of(memory).tensor : allocated_figures(analysis, row, memory);
}

std::vector<Passing> candidates(const ProcessAnalysis& analysis, replay::MemoryId memory, Measure measure) {
  const replay::MemoryPeaks& peaks = analysis.account.peaks.at(memory);
  const std::int64_t peak = measure == Measure::tensor ? peaks.tensor.bytes : peaks.live.bytes;
  std::vector<Passing> out;
  std::map<replay::PathId, std::int64_t> of_steady;
  if (analysis.shown.steady) {
    for (const Row& row : analysis.steady.rows) {
      const std::int64_t bytes = figures_of(analysis, row, memory, measure).transient;
      of_steady[row.path] = bytes;
      if (worthwhile(bytes, peak)) out.push_back({&row, analysis.steady.representative, true, bytes});
    }
  }
  for (const replay::ShownRow& shown : analysis.shown.rows) {
    const std::int64_t bytes = figures_of(analysis, *shown.row, memory, measure).transient;
    const auto steady = of_steady.find(shown.row->path);
    if (shown.bucket != nullptr || !worthwhile(bytes, peak)) continue;
    if (steady != of_steady.end() && !worthwhile(bytes - steady->second, peak)) continue;
    out.push_back({shown.row, shown.row->step, false, bytes});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Passing& a, const Passing& b) { return a.bytes > b.bytes; });
  if (out.size() > kMost) out.resize(kMost);
  return out;
}

// Returns the sites of blocks that were born in that phase and freed before it ended.
std::string sites(ProcessAnalysis& analysis, const Passing& passing, const replay::Holdings& alive) {
  std::string out;
  std::size_t named = 0;
  for (const Holding& holding : alive) { // the largest first
    if (holding.role != Role::temporary || holding.born_step != passing.step) continue;
    if (holding.born_phase != analysis.account.paths.last(passing.row->path)) continue;
    if (holding.stack == format::StackId{} || ++named > kNamed) continue;
    out += fmt::format("{}{} {}, alive {}", out.empty() ? "" : "; ", sized(holding.bytes),
                       printable(analysis.symbolizer->site(holding.stack).title()),
                       duration(static_cast<double>(holding.lifetime) / 1e9));
  }
  if (named > kNamed) out += fmt::format("; {} more", named - kNamed);
  return out;
}

} // namespace

std::vector<std::string> transients(ProcessAnalysis& analysis, replay::MemoryId memory, Measure measure) {
  std::vector<std::string> out;
  for (const Passing& passing : candidates(analysis, memory, measure)) {
    const trace::Ordinal peak_at = figures_of(analysis, *passing.row, memory, measure).peak_at;
    const std::string who = sites(analysis, passing, analysis.set({memory, measure, peak_at}));
    if (who.empty()) continue;
    const std::string phase = analysis.phase_name(passing.row->path);
    out.push_back(fmt::format(
        "Temporary in {}, {}: {}",
        passing.steady ? fmt::format("{} of each of {} typical steps", phase, analysis.steady.steps.size())
                       : analysis.phase_and_step(passing.row->path, passing.row->step),
        size(passing.bytes), who));
  }
  return out;
}

} // namespace memtrace::report
