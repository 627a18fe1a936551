// Purpose: how much higher each typical step begins than the one before.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// Returns the median over neighbouring typical steps of what a step begins higher than the one before, in bytes
// per step. Returns 0 if the typical steps together grow by less than 2 MiB, or if there are fewer than three.
std::int64_t growth_per_step(const ProcessAnalysis& analysis, replay::MemoryId memory, replay::Measure measure);

// Returns what makes the typical steps typical: "39 of 39 agree in what each phase adds and frees".
std::string typical_steps_agree(const ProcessAnalysis& analysis);
// Returns "each begins 16.00 MiB higher than the step before", or "" without growth.
std::string growth_in_words(std::int64_t per_step);

} // namespace memtrace::report
