// Purpose: writes a comparison as text.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/explain/diff.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// Returns at most `top` rows with their sites, and one row for the rest.
std::string diff_text(const Diff& diff, std::size_t top, const Screen& screen);

} // namespace memtrace::report
