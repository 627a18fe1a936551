// Purpose: writes a finding as text: the cause, its evidence in sentences, and what helps.
#pragma once

#include <cstddef>

#include "analyzer/findings/common/finding.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// `number`: its place among the findings of the process, from 1; 0: none.
void write_finding(const Finding& finding, std::size_t number, Lines& lines);

} // namespace memtrace::report
