// Purpose: the highest level in the phases of training's steps. The peak may be outside of them.
#include "analyzer/explain/training_peak.h"

namespace memtrace::report {
namespace {

const replay::Figures& measured(const replay::Row& row, replay::MemoryId memory, replay::Measure measure) {
  return measure == replay::Measure::tensor ? row.of(memory).tensor : row.of(memory).live;
}

} // namespace

std::optional<replay::Peak> training_peak(const replay::Account& account, const replay::Buckets& buckets,
                                          replay::MemoryId memory, replay::Measure measure) {
  std::optional<replay::Peak> out;
  const auto add = [&](const replay::Row& row, const std::optional<replay::StepSpan>& bucket) {
    const replay::Figures& figures = measured(row, memory, measure);
    if (row.count == 0 || row.step == replay::Step::none || figures.peak <= (out ? out->bytes : 0)) return;
    out = replay::Peak{figures.peak, figures.peak_at, 0, row.path, row.step, bucket};
  };
  for (const replay::Row& row : account.rows) add(row, std::nullopt);
  for (const replay::BucketRow& row : buckets.rows) add(row.most, row.steps);
  return out;
}

} // namespace memtrace::report
