// Purpose: a difference as people read it.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/explain/diff.h"

namespace memtrace::report {

// At most `top` rows with their sites; one row for the rest.
std::string diff_text(const Diff& diff, std::size_t top, bool color);

} // namespace memtrace::report
