// Purpose: writes a rank that holds more than the other ranks as text.
#pragma once

#include <string>

#include "analyzer/rss/rank_outliers.h"

namespace memtrace::report {

std::string outlier_text(const Outlier& outlier, bool color);

} // namespace memtrace::report
