// Purpose: the width and the colours of the terminal that shows a text report.
#pragma once

#include <string>

#include "analyzer/wording/text_lines.h"

namespace memtrace::cli {

// Returns the screen behind a descriptor. A terminal gives its width, from 60 to 200 columns, and colours
// unless NO_COLOR is set. Anything else has 100 columns and no colours.
report::Screen screen_of(int descriptor);

// Returns the screen of a command's output: stdout if `output` is "", else a file.
report::Screen screen_of(const std::string& output);

} // namespace memtrace::cli
