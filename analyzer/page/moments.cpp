// Purpose: the moments of a run that a page marks, and the parts of the run that it stores block by block.
#include "analyzer/page/moments.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Instant;
using replay::Interest;
using replay::Measure;
using replay::Row;
using replay::Step;

std::string peak_name(const Instant& peak) {
  return fmt::format("the peak of {}{}", memory_name(peak.memory),
                     peak.measure == Measure::tensor ? ", tensors" : "");
}

struct EventSpan {
  trace::Ordinal from = ~trace::Ordinal{0}, to = 0;
  void add(const Row& row) {
    from = std::min(from, row.entered);
    to = std::max(to, row.left);
  }
};

// What one pass over the rows of all steps finds.
class FindingPlaces {
 public:
  FindingPlaces(const ProcessAnalysis& analysis, const Findings& findings, const std::vector<Instant>& peaks)
      : analysis_(analysis),
        findings_(findings),
        peaks_(peaks),
        of_finding_(findings.size()),
        around_(peaks.size()) {
    const auto typical = analysis.steady.representative;
    first_ = analysis.account.first_update != Step::none ? analysis.account.first_update : Step{0};
    for (const Row& row : analysis.account.rows) {
      if (row.count == 0) continue;
      if (row.step == first_) first_span_.add(row);
      if (typical != Step::none && row.step == typical) typical_span_.add(row);
      look(row);
    }
  }

  // Returns the highest instant of the phase and step that the finding names. Without them, that of the memory.
  Instant of(std::size_t finding) const {
    if (of_finding_[finding]) return *of_finding_[finding];
    const Finding& found = findings_[finding];
    if (analysis_.death && found.phase.empty() && found.memory == analysis_.death->then.memory)
      return {found.memory, Measure::live, analysis_.death->then.at};
    for (const Instant& peak : peaks_)
      if (peak.memory == found.memory) return peak;
    return peaks_.front();
  }

  std::vector<Interest> interests() const {
    std::vector<Interest> out;
    out.push_back({around(0).from, around(0).to, peak_name(peaks_.front())});
    if (analysis_.death) out.push_back({analysis_.death->then.at, analysis_.death->then.at, "the end"});
    if (first_span_.to != 0) out.push_back({first_span_.from, first_span_.to, when_step(first_)});
    if (typical_span_.to != 0)
      out.push_back({typical_span_.from, typical_span_.to, when_step(analysis_.steady.representative)});
    for (std::size_t i = 0; i < findings_.size(); ++i)
      out.push_back({of(i).at, of(i).at, "the finding " + findings_[i].id});
    for (std::size_t i = 1; i < peaks_.size(); ++i)
      out.push_back({around(i).from, around(i).to, peak_name(peaks_[i])});
    out.push_back({~trace::Ordinal{0}, ~trace::Ordinal{0}, "the end"});
    return out;
  }

 private:
  static std::string when_step(Step step) { return fmt::format("step {}", static_cast<std::int64_t>(step)); }

  EventSpan around(std::size_t peak) const {
    const EventSpan& span = around_[peak];
    return span.to != 0 ? span : EventSpan{peaks_[peak].at, peaks_[peak].at};
  }

  void look(const Row& row) {
    for (std::size_t i = 0; i < peaks_.size(); ++i) {
      const bool in = row.entered <= peaks_[i].at && peaks_[i].at <= row.left;
      const bool shorter = around_[i].to == 0 || row.left - row.entered < around_[i].to - around_[i].from;
      if (in && shorter) around_[i] = {row.entered, row.left};
    }
    const std::string& phase = analysis_.account.paths.text(analysis_.account.paths.last(row.path));
    for (std::size_t i = 0; i < findings_.size(); ++i) {
      const Finding& finding = findings_[i];
      if (finding.phase != phase || finding.step != row.step || of_finding_[i]) continue;
      const replay::MemoryRow& figures = row.of(finding.memory);
      const Measure measure = figures.tensor.peak != 0 ? Measure::tensor : Measure::live;
      of_finding_[i] = {finding.memory, measure,
                        measure == Measure::tensor ? figures.tensor.peak_at : figures.live.peak_at};
    }
  }

  const ProcessAnalysis& analysis_;
  const Findings& findings_;
  const std::vector<Instant>& peaks_;
  Step first_ = Step::none;
  EventSpan first_span_, typical_span_;
  std::vector<std::optional<Instant>> of_finding_;
  std::vector<EventSpan> around_; // of each peak: the shortest phase that has it
};

} // namespace

Moments moments_of(const ProcessAnalysis& analysis, const Findings& findings,
                   const std::vector<Instant>& peaks) {
  const FindingPlaces places(analysis, findings, peaks);
  Moments out;
  for (const Instant& peak : peaks) out.marks.push_back({peak, "peak", peak_name(peak), std::nullopt});
  for (std::size_t i = 0; i < findings.size(); ++i)
    out.marks.push_back({places.of(i), "finding", findings[i].title, i});
  if (analysis.death)
    out.marks.push_back({{analysis.death->then.memory, Measure::live, analysis.death->then.at},
                         "death",
                         "the process ended: " + analysis.end.how,
                         std::nullopt});
  out.interests = places.interests();
  return out;
}

} // namespace memtrace::report
