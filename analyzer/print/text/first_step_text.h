// Purpose: writes as text what the first step added for good, and what only it needed.
#pragma once

#include <string>

#include "analyzer/explain/first_step.h"
#include "analyzer/findings/common/finding.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// `leaks`: the findings `leak-per-step`, which are a trend of all steps.
std::string first_step_text(const FirstStep& first, const Findings& leaks, const Screen& screen);

} // namespace memtrace::report
