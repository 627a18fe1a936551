// Purpose: the table of what held memory at one instant, for a postmortem.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/text_lines.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {

// What was alive. The lines of its table add up to `total` bytes.
struct Held {
  const replay::Holdings& set;
  std::int64_t total;
  Unit unit;
};

// "allocating line <- the user's line that called it".
std::string site_and_caller(ProcessAnalysis& analysis, format::StackId stack);

// Writes at most `most` lines, then what they leave. Returns the width of the first column, which the title may
// widen.
std::size_t write_held(ProcessAnalysis& analysis, const Held& held, const std::string& title, std::size_t most,
                       Lines& lines);

} // namespace memtrace::report
