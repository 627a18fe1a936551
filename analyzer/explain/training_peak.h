// Purpose: the highest level in the phases of training's steps. The peak may be outside of them.
#pragma once

#include <optional>

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/rollup_rows.h"

namespace memtrace::report {

// Returns the highest level in a phase of a step, or nullopt if no phase is in a step. If that step is only a
// row of the rollup, the peak has its steps as `bucket`. Its stamp is 0.
std::optional<replay::Peak> training_peak(const replay::Account& account, const replay::Buckets& buckets,
                                          replay::MemoryId memory, replay::Measure measure);

} // namespace memtrace::report
