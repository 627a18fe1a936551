// Room: report. Needs names, so it stands behind symbols.
// Job: what every step leaves behind.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/report/view.h"

namespace memtrace::report {

// Where to look at what is alive: the highest point of the last step. None: fewer steps than a leak can be
// told in.
std::optional<fold::Instant> leak_instant(const fold::Account& account, fold::MemoryId memory);

// `leak-per-step`, one for each site. Bytes are per step: what was born behind the first step that has some, up
// to the last, over the steps between the two. A site leaks when each quarter of the steps left some of it
// behind, between half and one and a half times the mean of the four: a cache that fills, or one that keeps the
// last few, does not.
std::vector<Finding> find_leaks(View& view);

} // namespace memtrace::report
