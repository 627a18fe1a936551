// Room: report.
// Job: bytes per parameter as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/report/explain.h"

namespace memtrace::report {

// `project`: also says what so many parameters would take.
std::string explain_text(const Explanation& explanation, std::optional<std::uint64_t> project, bool color);

} // namespace memtrace::report
