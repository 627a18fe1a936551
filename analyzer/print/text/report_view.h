// Purpose: the part of a process that a text report is about: one memory, by one measure, in one unit.
#pragma once

#include "analyzer/explain/allocated_figures.h"
#include "analyzer/explain/leading_peak.h"
#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {

struct ReportView {
  ProcessAnalysis& analysis;
  LeadingPeak leading;
  Unit unit;

  ReportView(ProcessAnalysis& of, replay::MemoryId memory)
      : analysis(of), leading(leading_peak(of, memory)), unit(unit_for(leading.bytes)) {}

  bool of_tensors() const { return leading.measure == replay::Measure::tensor; }
  const replay::MemoryPeaks& peaks() const { return analysis.account.peaks.at(leading.memory); }
  const replay::Peak& peak() const { return peak_of(analysis, leading); }
  // Without reservations that were never touched, as the headline.
  replay::Figures figures(const replay::Row& row) const {
    return of_tensors() ? row.of(leading.memory).tensor : allocated_figures(analysis, row, leading.memory);
  }
};

} // namespace memtrace::report
