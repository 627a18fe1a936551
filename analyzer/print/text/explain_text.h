// Purpose: writes bytes per parameter as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/explain/bytes_per_parameter.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// `project`: adds the bytes that this number of parameters would take.
std::string explain_text(const Explanation& explanation, std::optional<std::uint64_t> project,
                         const Screen& screen);

} // namespace memtrace::report
