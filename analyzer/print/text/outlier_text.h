// Purpose: writes a rank that holds more than the other ranks as text.
#pragma once

#include "analyzer/rss/rank_outliers.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

void write_outlier(const Outlier& outlier, Lines& lines);

} // namespace memtrace::report
