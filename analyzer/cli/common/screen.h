// Purpose: the width and the colours of the terminal that shows a text report.
#pragma once

#include <string>

#include "analyzer/wording/text_lines.h"

namespace memtrace::cli {

// Returns the screen behind a descriptor; -1 is a file. The width is that of the terminal, else COLUMNS, else
// 100; from 60 to 200 columns. A terminal has colours unless NO_COLOR is set. Elsewhere no text is cut.
report::Screen screen_of(int descriptor);

// Returns the screen of a command's output: stdout if `output` is "", else a file.
report::Screen screen_of(const std::string& output);

} // namespace memtrace::cli
